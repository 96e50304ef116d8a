// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/graph/flat_layout.h"
#include "src/graph/graph.h"

namespace trireme::testing_support {

/// A net with parameters of every role, of odd sizes so that the flat buffers have gaps:
/// convolution with bias, batch norm, convolution, linear.
inline Graph small_net() {
  Graph graph;
  ValueId x = graph.input({8, 8, 3});
  Conv2dOp conv;
  conv.out_channels = 7;
  conv.kernel_h = conv.kernel_w = 3;
  conv.pad_h = conv.pad_w = 1;
  conv.bias = true;
  x = graph.conv2d("conv1", x, conv, Initializer::Kind::kaiming_normal);
  x = graph.batch_norm("bn1", x);
  x = graph.relu("relu1", x);
  conv.out_channels = 11;
  conv.bias = false;
  x = graph.conv2d("conv2", x, conv, Initializer::Kind::kaiming_normal);
  x = graph.adaptive_avg_pool("pool", x, {1, 1});
  x = graph.flatten("flatten", x);
  x = graph.linear("fc", x, {5}, Initializer::Kind::fan_in_uniform);
  graph.softmax_cross_entropy("loss", x);
  return graph;
}

}  // namespace trireme::testing_support
