// SPDX-License-Identifier: Apache-2.0
#include "src/graph/infer.h"

#include <fmt/ranges.h>

#include <cmath>

#include "src/core/error.h"

namespace trireme {

namespace {

// One overload per op: checks attributes and input shapes, returns the output shape of one sample.
class ShapeInference {
 public:
  ShapeInference(std::string_view node, std::string_view op, std::span<const Shape> inputs)
      : node_(node), op_(op), inputs_(inputs) {}

  Shape operator()(const InputOp&) const { throw refusal("the input has no shape to infer"); }

  Shape operator()(const Conv2dOp& op) const {
    const Shape& x = picture();
    require(op.out_channels > 0, "out_channels must be positive");
    return {window(x[0], op.kernel_h, op.stride_h, op.pad_h, "rows"),
            window(x[1], op.kernel_w, op.stride_w, op.pad_w, "columns"), op.out_channels};
  }

  Shape operator()(const BatchNormOp& op) const {
    require(std::isfinite(op.epsilon) && op.epsilon > 0, "epsilon must be positive");
    require(op.momentum >= 0 && op.momentum <= 1, "momentum must lie in 0..1");
    if (!op.residual) return picture();
    require(inputs_.size() == 2 && inputs_[0].rank() == 3 && inputs_[0] == inputs_[1],
            "with a residual it takes two pictures of equal shape");
    return inputs_[0];
  }

  Shape operator()(const ReluOp&) const { return one(); }

  Shape operator()(const MaxPoolOp& op) const {
    const Shape& x = picture();
    require(2 * op.pad_h <= op.kernel_h && 2 * op.pad_w <= op.kernel_w,
            "padding must be at most half the window, or a window could lie outside the picture");
    return {window(x[0], op.kernel_h, op.stride_h, op.pad_h, "rows"),
            window(x[1], op.kernel_w, op.stride_w, op.pad_w, "columns"), x[2]};
  }

  Shape operator()(const AdaptiveAvgPoolOp& op) const {
    require(op.out_h > 0 && op.out_w > 0, "the output must have at least one row and column");
    return {op.out_h, op.out_w, picture()[2]};
  }

  Shape operator()(const LinearOp& op) const {
    require(op.out_features > 0, "out_features must be positive");
    features();
    return {op.out_features};
  }

  Shape operator()(const DropoutOp& op) const {
    require(op.probability >= 0 && op.probability < 1, "the probability must lie in [0, 1)");
    require(op.ordinal >= 0, "the ordinal must not be negative");
    return one();
  }

  Shape operator()(const AddOp&) const {
    require(inputs_.size() == 2, "it takes two inputs");
    require(inputs_[0] == inputs_[1], "its inputs must have equal shapes");
    return inputs_[0];
  }

  Shape operator()(const FlattenOp&) const { return {picture().count()}; }

  Shape operator()(const SoftmaxCrossEntropyOp& op) const {
    require(op.label_smoothing >= 0 && op.label_smoothing < 1, "label smoothing must lie in [0, 1)");
    features();
    return {};
  }

 private:
  Error refusal(std::string_view why) const {
    std::vector<std::string> shapes;
    for (const Shape& shape : inputs_) shapes.push_back(shape.text());
    return make_error(Status::configuration, "{} '{}' on {}: {}", op_, node_, fmt::join(shapes, ", "), why);
  }
  void require(bool condition, std::string_view why) const {
    if (!condition) throw refusal(why);
  }
  const Shape& one() const {
    require(inputs_.size() == 1, "it takes one input");
    return inputs_[0];
  }
  const Shape& picture() const {
    require(one().rank() == 3, "its input must be a picture [H,W,C]");
    return inputs_[0];
  }
  void features() const {
    require(one().rank() == 1, "its input must be features [F]; flatten pictures first");
  }

  std::int64_t window(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      std::string_view what) const {
    require(kernel > 0 && stride > 0 && pad >= 0, "kernel and stride must be positive, padding not negative");
    if (extent + 2 * pad < kernel)
      throw refusal(
          fmt::format("a kernel of {} {} does not fit into {} with padding {}", kernel, what, extent, pad))
          .hint("use larger pictures, or a net for smaller ones");
    return (extent + 2 * pad - kernel) / stride + 1;
  }

  std::string_view node_, op_;
  std::span<const Shape> inputs_;
};

}  // namespace

Shape infer_shape(std::string_view node, const OpAttributes& op, std::span<const Shape> inputs) {
  return std::visit(ShapeInference(node, op_name(op), inputs), op);
}

std::vector<ParameterSpec> parameters_of(const OpAttributes& op, std::span<const Shape> inputs) {
  std::vector<ParameterSpec> specs;
  if (const auto* conv = std::get_if<Conv2dOp>(&op)) {
    const Shape weight{conv->out_channels, conv->kernel_h, conv->kernel_w, inputs[0][2]};
    specs.push_back({"weight", ParamRole::conv_weight, weight});
    if (conv->bias) specs.push_back({"bias", ParamRole::bias, {conv->out_channels}});
  } else if (const auto* linear = std::get_if<LinearOp>(&op)) {
    specs.push_back({"weight", ParamRole::linear_weight, {linear->out_features, inputs[0][0]}});
    if (linear->bias) specs.push_back({"bias", ParamRole::bias, {linear->out_features}});
  } else if (std::holds_alternative<BatchNormOp>(op)) {
    const Shape channels{inputs[0][2]};
    specs = {{"weight", ParamRole::norm_weight, channels},
             {"bias", ParamRole::norm_bias, channels},
             {"running_mean", ParamRole::running_mean, channels},
             {"running_var", ParamRole::running_var, channels}};
  }
  return specs;
}

namespace {

struct Fans {
  std::int64_t in = 0, out = 0;
};

Fans fans_of(const OpAttributes& op, const Shape& input) {
  if (const auto* conv = std::get_if<Conv2dOp>(&op)) {
    const std::int64_t window = conv->kernel_h * conv->kernel_w;
    return {window * input[2], window * conv->out_channels};
  }
  if (const auto* linear = std::get_if<LinearOp>(&op)) return {input[0], linear->out_features};
  return {};
}

constexpr double kNormalDeviation = 0.01;  // torchvision's for VGG's linear layers

Initializer weight_initializer(Initializer::Kind kind, const Fans& fans) {
  switch (kind) {
    case Initializer::Kind::constant:
      return {kind, 0, 0};
    case Initializer::Kind::normal:
      return {kind, kNormalDeviation, 0};
    case Initializer::Kind::kaiming_normal:
      return {kind, 0, fans.out};
    case Initializer::Kind::fan_in_uniform:
      return {kind, 0, fans.in};
  }
  return {};
}

}  // namespace

Initializer initializer_of(const ParameterSpec& spec, const OpAttributes& op, std::span<const Shape> inputs,
                           Initializer::Kind weight_init) {
  switch (spec.role) {
    case ParamRole::conv_weight:
    case ParamRole::linear_weight:
      return weight_initializer(weight_init, fans_of(op, inputs[0]));
    case ParamRole::bias:
      // PyTorch draws the biases of its default layers like the weights; torchvision zeroes all others.
      if (weight_init == Initializer::Kind::fan_in_uniform)
        return weight_initializer(weight_init, fans_of(op, inputs[0]));
      return {};
    case ParamRole::norm_weight:
    case ParamRole::running_var:
      return {Initializer::Kind::constant, 1, 0};
    case ParamRole::norm_bias:
    case ParamRole::running_mean:
      return {};
  }
  return {};
}

}  // namespace trireme
