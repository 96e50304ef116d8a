// SPDX-License-Identifier: Apache-2.0
// ResNet. A net is a stem, stages of residual blocks, global average pooling and a linear layer. The first
// block of a stage may halve the picture; where a block changes the shape, its shortcut is a 1x1 convolution
// with batch norm. The residual branch is built before the shortcut, which puts parameters in torchvision's
// order.
#include <span>
#include <string>

#include "models/families.h"

namespace trireme {

namespace {

enum class Block { basic, bottleneck };

struct Stage {
  int blocks;
  std::int64_t channels;
};

constexpr std::int64_t kBottleneckExpansion = 4;

Conv2dOp convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t pad = kernel / 2;
  return {.out_channels = channels,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_h = pad,
          .pad_w = pad};
}

class ResnetBuilder {
 public:
  ResnetBuilder(const ModelOptions& options, Block block) : options_(options), block_(block) {}

  /// The stem of the ImageNet nets: 7x7 with stride 2 and a max pool; 3x3 alone for small pictures.
  void wide_stem() {
    x_ = graph_.input(options_.image);
    const bool small = is_small_picture(options_.image);
    conv_bn("conv1", "bn1", small ? convolution(64, 3, 1) : convolution(64, 7, 2));
    x_ = graph_.relu("relu", x_);
    if (!small)
      x_ = graph_.max_pool(
          "maxpool", x_,
          {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1});
  }

  void narrow_stem() {
    x_ = graph_.input(options_.image);
    conv_bn("conv1", "bn1", convolution(16, 3, 1));
    x_ = graph_.relu("relu", x_);
  }

  void stages(std::span<const Stage> stages) {
    int layer = 0;
    for (const Stage& stage : stages) {
      ++layer;
      for (int i = 0; i < stage.blocks; ++i) {
        const std::int64_t stride = layer > 1 && i == 0 ? 2 : 1;
        residual_block("layer" + std::to_string(layer) + "." + std::to_string(i) + ".", stage.channels,
                       stride);
      }
    }
  }

  Graph finish() {
    x_ = graph_.adaptive_avg_pool("avgpool", x_, {1, 1});
    x_ = graph_.flatten("flatten", x_);
    x_ = graph_.linear("fc", x_, {.out_features = options_.num_classes}, Initializer::Kind::fan_in_uniform);
    graph_.softmax_cross_entropy("loss", x_, {options_.label_smoothing});
    return std::move(graph_);
  }

 private:
  void conv_bn(const std::string& conv, const std::string& norm, const Conv2dOp& op) {
    x_ = graph_.batch_norm(norm, graph_.conv2d(conv, x_, op, Initializer::Kind::kaiming_normal));
  }

  void residual_block(const std::string& at, std::int64_t channels, std::int64_t stride) {
    const ValueId before = x_;
    if (block_ == Block::basic)
      basic_branch(at, channels, stride);
    else
      bottleneck_branch(at, channels, stride);
    const ValueId branch = x_;
    x_ = before;
    const std::int64_t out_channels = graph_.value(branch).shape[2];
    if (stride != 1 || graph_.value(before).shape[2] != out_channels)
      conv_bn(at + "downsample.0", at + "downsample.1", convolution(out_channels, 1, stride));
    x_ = graph_.relu(at + "relu", graph_.add(at + "add", branch, x_));
  }

  void basic_branch(const std::string& at, std::int64_t channels, std::int64_t stride) {
    conv_bn(at + "conv1", at + "bn1", convolution(channels, 3, stride));
    x_ = graph_.relu(at + "relu1", x_);
    conv_bn(at + "conv2", at + "bn2", convolution(channels, 3, 1));
  }

  void bottleneck_branch(const std::string& at, std::int64_t channels, std::int64_t stride) {
    conv_bn(at + "conv1", at + "bn1", convolution(channels, 1, 1));
    x_ = graph_.relu(at + "relu1", x_);
    conv_bn(at + "conv2", at + "bn2", convolution(channels, 3, stride));
    x_ = graph_.relu(at + "relu2", x_);
    conv_bn(at + "conv3", at + "bn3", convolution(channels * kBottleneckExpansion, 1, 1));
  }

  const ModelOptions& options_;
  const Block block_;
  Graph graph_;
  ValueId x_ = -1;
};

Graph wide_resnet(const ModelOptions& options, Block block, int blocks1, int blocks2, int blocks3,
                  int blocks4) {
  ResnetBuilder builder(options, block);
  builder.wide_stem();
  const Stage stages[] = {{blocks1, 64}, {blocks2, 128}, {blocks3, 256}, {blocks4, 512}};
  builder.stages(stages);
  return builder.finish();
}

// depth = 6 n + 2: three stages of n basic blocks, the stem and the linear layer.
Graph narrow_resnet(const ModelOptions& options, int depth) {
  const int blocks = (depth - 2) / 6;
  ResnetBuilder builder(options, Block::basic);
  builder.narrow_stem();
  const Stage stages[] = {{blocks, 16}, {blocks, 32}, {blocks, 64}};
  builder.stages(stages);
  return builder.finish();
}

}  // namespace

Graph build_resnet18(const ModelOptions& options) {
  return wide_resnet(options, Block::basic, 2, 2, 2, 2);
}
Graph build_resnet34(const ModelOptions& options) {
  return wide_resnet(options, Block::basic, 3, 4, 6, 3);
}
Graph build_resnet50(const ModelOptions& options) {
  return wide_resnet(options, Block::bottleneck, 3, 4, 6, 3);
}
Graph build_resnet101(const ModelOptions& options) {
  return wide_resnet(options, Block::bottleneck, 3, 4, 23, 3);
}
Graph build_resnet152(const ModelOptions& options) {
  return wide_resnet(options, Block::bottleneck, 3, 8, 36, 3);
}

Graph build_resnet20(const ModelOptions& options) {
  return narrow_resnet(options, 20);
}
Graph build_resnet32(const ModelOptions& options) {
  return narrow_resnet(options, 32);
}
Graph build_resnet44(const ModelOptions& options) {
  return narrow_resnet(options, 44);
}
Graph build_resnet56(const ModelOptions& options) {
  return narrow_resnet(options, 56);
}
Graph build_resnet110(const ModelOptions& options) {
  return narrow_resnet(options, 110);
}

}  // namespace trireme
