// SPDX-License-Identifier: Apache-2.0
// Pooling, the head of an emulated network, and the update of its parameters.
#include <algorithm>

#include "bench/kernel_report/emulated_network.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/optimizer/norms.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/pool2d/pool2d.h"
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"

namespace trireme::bench {

using enum DeviceMemory::Kind;

namespace {

kernels::Pool2dShape pool_shape(std::int64_t h, std::int64_t w, std::int64_t pitch, const MaxPoolOp& op) {
  const auto small = [](std::int64_t value) { return static_cast<int>(value); };
  return {1,
          small(h),
          small(w),
          small(pitch),
          small(op.kernel_h),
          small(op.kernel_w),
          small(op.stride_h),
          small(op.stride_w),
          small(op.pad_h),
          small(op.pad_w)};
}

}  // namespace

void EmulatedNetwork::forward_max_pool(const Node& node, const MaxPoolOp& op) {
  const Value& x = value(node.inputs[0]);
  const Value& y = value(node.output);
  std::uint8_t* places = memory_.allocate<std::uint8_t>(y.rows() * y.pitch, image);
  places_[graph_.value(node.output).producer] = places;
  kernels::max_pool2d_forward(y.data, places, x.data, pool_shape(x.h, x.w, x.pitch, op), nullptr, x.is_relu);
  record(node.name, "forward");
}

void EmulatedNetwork::backward_max_pool(const Node& node, const MaxPoolOp& op) {
  Value& x = value(node.inputs[0]);
  kernels::max_pool2d_backward(x.gradient, value(node.output).gradient,
                               places_.at(graph_.value(node.output).producer),
                               pool_shape(x.h, x.w, x.pitch, op), nullptr);
  x.has_gradient = true;
  record(node.name, "backward");
}

void EmulatedNetwork::forward_average(const Node& node, const AdaptiveAvgPoolOp& op) {
  const Value& x = value(node.inputs[0]);
  if (x.h == op.out_h && x.w == op.out_w) {  // windows of one pixel: the value goes on as it is
    value(node.output) = x;
    return;
  }
  kernels::adaptive_avg_pool2d_forward(
      value(node.output).data, x.data,
      {1, static_cast<int>(x.h), static_cast<int>(x.w), static_cast<int>(op.out_h),
       static_cast<int>(op.out_w), static_cast<int>(x.pitch)},
      nullptr);
  record(node.name, "forward");
}

void EmulatedNetwork::backward_average(const Node& node, const AdaptiveAvgPoolOp& op) {
  Value& x = value(node.inputs[0]);
  x.has_gradient = true;
  if (x.h == op.out_h && x.w == op.out_w) return;
  kernels::adaptive_avg_pool2d_backward(
      x.gradient, value(node.output).gradient,
      {1, static_cast<int>(x.h), static_cast<int>(x.w), static_cast<int>(op.out_h),
       static_cast<int>(op.out_w), static_cast<int>(x.pitch)},
      nullptr);
  record(node.name, "backward");
}

void EmulatedNetwork::forward_dropout(const Node& node, const DropoutOp& op) {
  const Value& x = value(node.inputs[0]);
  value(node.output).is_relu = x.is_relu;  // what was dropped is zero, like what the ReLU cut
  const kernels::DropoutKey key{op.probability, 0, step_values_, memory_.allocate<std::int64_t>(1, step)};
  kernels::dropout(value(node.output).data, x.data, key,
                   {1, static_cast<int>(x.rows()), static_cast<int>(x.channels), static_cast<int>(x.pitch)},
                   nullptr);
  record(node.name, "forward");
}

void EmulatedNetwork::backward_dropout(const Node& node, const DropoutOp& op) {
  Value& x = value(node.inputs[0]);
  const kernels::DropoutKey key{op.probability, 0, step_values_, memory_.allocate<std::int64_t>(1, step)};
  kernels::dropout(x.gradient, value(node.output).gradient, key,
                   {1, static_cast<int>(x.rows()), static_cast<int>(x.channels), static_cast<int>(x.pitch)},
                   nullptr);
  x.has_gradient = true;
  record(node.name, "backward");
}

void EmulatedNetwork::forward_flatten(const Node& node) {
  const Value& x = value(node.inputs[0]);
  const Value& y = value(node.output);
  value(node.output).is_relu = x.is_relu;
  kernels::flatten_forward(y.data, x.data,
                           {1, static_cast<int>(x.rows()), static_cast<int>(x.channels),
                            static_cast<int>(x.pitch), static_cast<int>(y.pitch)},
                           nullptr);
  record(node.name, "forward");
}

void EmulatedNetwork::backward_flatten(const Node& node) {
  Value& x = value(node.inputs[0]);
  const Value& y = value(node.output);
  kernels::flatten_backward(x.gradient, y.gradient,
                            {1, static_cast<int>(x.rows()), static_cast<int>(x.channels),
                             static_cast<int>(x.pitch), static_cast<int>(y.pitch)},
                            nullptr);
  x.has_gradient = true;
  record(node.name, "backward");
}

void EmulatedNetwork::loss(const Node& node, const SoftmaxCrossEntropyOp& op) {
  Value& logits = value(node.inputs[0]);
  kernels::SoftmaxCrossEntropyBuffers<T> buffers;
  buffers.logits = logits.data;
  buffers.labels = memory_.allocate<std::int32_t>(1, image);
  buffers.step = step_values_;
  buffers.losses = memory_.allocate<float>(1, image);
  buffers.gradient = logits.gradient;
  buffers.record = memory_.allocate<kernels::LossRecord>(1, step);
  buffers.workspace = memory_.allocate<std::uint8_t>(
      static_cast<std::int64_t>(kernels::softmax_cross_entropy_workspace_bytes(1)) + 16, image);
  kernels::softmax_cross_entropy({1, static_cast<int>(logits.channels), static_cast<int>(logits.pitch)},
                                 static_cast<float>(op.label_smoothing), buffers, nullptr);
  logits.has_gradient = true;
  record(node.name, "loss");
}

void EmulatedNetwork::update() {
  std::vector<kernels::Segment> segments;
  std::int64_t end = 0;
  for (const Parameter& parameter : graph_.parameters()) {
    segments.push_back(
        {end, parameter.shape.count(),
         parameter.is_statistic() ? kernels::SegmentRule::statistic : kernels::SegmentRule::decayed});
    end = kernels::round_up<std::int64_t>(end + parameter.shape.count(), 64);
  }
  const kernels::HostSegments host = kernels::make_segments(segments);
  const auto upload = [this](const auto& values) {
    using Element = typename std::decay_t<decltype(values)>::value_type;
    auto* to = memory_.allocate<Element>(static_cast<std::int64_t>(values.size()), step);
    test::check_cuda(cudaMemcpy(to, values.data(), values.size() * sizeof(Element), cudaMemcpyHostToDevice),
                     "cudaMemcpy");
    return to;
  };
  const kernels::SegmentTable table{upload(host.tiles), upload(host.rules), upload(host.first_tile),
                                    static_cast<int>(host.tiles.size()), static_cast<int>(host.rules.size())};
  kernels::UpdateBuffers buffers;
  buffers.parameters = memory_.allocate<float>(end, step);
  buffers.gradients = memory_.allocate<float>(end, step);
  buffers.first = memory_.allocate<float>(end, step);
  auto* factors = memory_.allocate<kernels::UpdateFactors>(1, step);
  buffers.factors = factors;
  kernels::UpdateInputs inputs;
  inputs.step = step_values_;
  kernels::prepare_update(inputs, factors, nullptr);
  kernels::sgd_step(table, kernels::make_range(host, 0, end), buffers, {}, nullptr);
  record("all parameters", "update");
}

}  // namespace trireme::bench
