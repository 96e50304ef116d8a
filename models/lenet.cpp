// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"

namespace trireme {

namespace {

constexpr auto kDefaultInit = Initializer::Kind::fan_in_uniform;

Conv2dOp convolution_5x5(std::int64_t out_channels) {
  return {.out_channels = out_channels, .kernel_h = 5, .kernel_w = 5, .bias = true};
}

}  // namespace

Graph build_lenet(const ModelOptions& options) {
  const MaxPoolOp halve{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  Graph graph;
  ValueId x = graph.input(options.image);
  x = graph.relu("relu1", graph.conv2d("conv1", x, convolution_5x5(6), kDefaultInit));
  x = graph.max_pool("pool1", x, halve);
  x = graph.relu("relu2", graph.conv2d("conv2", x, convolution_5x5(16), kDefaultInit));
  x = graph.max_pool("pool2", x, halve);
  x = graph.flatten("flatten", x);
  x = graph.relu("relu3", graph.linear("fc1", x, {.out_features = 120}, kDefaultInit));
  x = graph.relu("relu4", graph.linear("fc2", x, {.out_features = 84}, kDefaultInit));
  x = graph.linear("fc3", x, {.out_features = options.num_classes}, kDefaultInit);
  graph.softmax_cross_entropy("loss", x, {options.label_smoothing});
  return graph;
}

}  // namespace trireme
