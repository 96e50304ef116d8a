// SPDX-License-Identifier: Apache-2.0
// VGG, configuration D: five stages of 3x3 convolutions, each stage ending in a 2x2 max pool. Modules carry
// the numbers that they have in torchvision's Sequential, so checkpoints fit by name.
//
// From 64 pixels on the picture is pooled adaptively to 7x7 and classified by three linear layers with
// dropout. Below, it is averaged to 1x1 where the pools have not already brought it there, and one linear
// layer classifies. A pool that would leave nothing of a picture one pixel high or wide (28 pixels: the
// fifth) is left out.
#include <algorithm>
#include <string>

#include "models/families.h"

namespace trireme {

namespace {

struct Stage {
  int convolutions;
  std::int64_t channels;
};
constexpr Stage kStages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

class VggBuilder {
 public:
  VggBuilder(const ModelOptions& options, bool batch_norm) : options_(options), batch_norm_(batch_norm) {}

  Graph build() {
    x_ = graph_.input(options_.image);
    for (const Stage& stage : kStages) {
      for (int i = 0; i < stage.convolutions; ++i) convolution(stage.channels);
      halve();
    }
    if (is_small_picture(options_.image))
      small_head();
    else
      large_head();
    graph_.softmax_cross_entropy("loss", x_, {options_.label_smoothing});
    return std::move(graph_);
  }

 private:
  std::string next_feature() { return "features." + std::to_string(feature_++); }

  void convolution(std::int64_t channels) {
    const Conv2dOp op{
        .out_channels = channels, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .bias = true};
    x_ = graph_.conv2d(next_feature(), x_, op, Initializer::Kind::kaiming_normal);
    if (batch_norm_) x_ = graph_.batch_norm(next_feature(), x_);
    x_ = graph_.relu(next_feature(), x_);
  }

  void halve() {
    const std::string name = next_feature();
    const Shape& shape = graph_.value(x_).shape;
    if (std::min(shape[0], shape[1]) < 2) return;
    x_ = graph_.max_pool(name, x_, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
  }

  void small_head() {
    const Shape& shape = graph_.value(x_).shape;
    if (shape[0] > 1 || shape[1] > 1) x_ = graph_.adaptive_avg_pool("avgpool", x_, {1, 1});
    x_ = graph_.flatten("flatten", x_);
    linear("classifier", options_.num_classes);
  }

  void large_head() {
    x_ = graph_.adaptive_avg_pool("avgpool", x_, {7, 7});
    x_ = graph_.flatten("flatten", x_);
    linear("classifier.0", 4096);
    x_ = graph_.relu("classifier.1", x_);
    x_ = graph_.dropout("classifier.2", x_, options_.dropout);
    linear("classifier.3", 4096);
    x_ = graph_.relu("classifier.4", x_);
    x_ = graph_.dropout("classifier.5", x_, options_.dropout);
    linear("classifier.6", options_.num_classes);
  }

  void linear(const std::string& name, std::int64_t features) {
    x_ = graph_.linear(name, x_, {.out_features = features}, Initializer::Kind::normal);
  }

  const ModelOptions& options_;
  const bool batch_norm_;
  Graph graph_;
  ValueId x_ = -1;
  int feature_ = 0;
};

}  // namespace

Graph build_vgg16(const ModelOptions& options) {
  return VggBuilder(options, false).build();
}
Graph build_vgg16_bn(const ModelOptions& options) {
  return VggBuilder(options, true).build();
}

}  // namespace trireme
