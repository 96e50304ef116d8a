// SPDX-License-Identifier: Apache-2.0
// Convolutions and batch norms of an emulated network.
#include "bench/kernel_report/emulated_network.h"
#include "bench/kernel_report/padded_flops.h"

namespace trireme::bench {

using kernels::Conv2dShape;

namespace {

constexpr int kMultiprocessors = 132;  // of an H200

}  // namespace

Conv2dShape EmulatedNetwork::shape_of(const Node& node, const Conv2dOp& op, std::int64_t batch) const {
  const Value& x = values_.at(static_cast<std::size_t>(node.inputs[0]));
  const Value& y = values_.at(static_cast<std::size_t>(node.output));
  return {batch,       x.h,         x.w,         x.channels,  x.pitch,  y.channels, y.pitch,
          op.kernel_h, op.kernel_w, op.stride_h, op.stride_w, op.pad_h, op.pad_w};
}

void EmulatedNetwork::forward_convolution(const Node& node, const Conv2dOp& op) {
  using enum DeviceMemory::Kind;
  const Conv2dShape shape = shape_of(node, op, 1), full = shape_of(node, op, batch_);
  const std::int64_t packed = kernels::conv2d_packed_weights_size<T>(shape);
  T* weights = packed_weights_[graph_.value(node.output).producer] = memory_.allocate<T>(packed, step);
  const auto* master =
      memory_.allocate<float>(shape.out_channels * shape.kernel_h * shape.kernel_w * shape.in_channels, step);
  kernels::conv2d_pack_weights(weights, master, shape, nullptr);
  record(node.name, "pack weights");

  kernels::Conv2dForward<T> pass{value(node.output).data, value(node.inputs[0]).data, weights};
  if (op.bias) pass.bias = memory_.allocate<float>(shape.out_pitch, step);
  pass.relu = op.relu;
  value(node.output).is_relu = op.relu;
  if (const Node* next = batch_norm_behind(node); next != nullptr) pass.statistics = memory_of(*next).tiles;
  const kernels::TileShape tile = kernels::conv2d_forward_tile<T>(full);
  kernels::conv2d_forward(pass, shape, nullptr, tile);
  record(node.name, "forward", {padded_forward_flops(shape, tile), padded_forward_flops(full, tile)});
}

void EmulatedNetwork::backward_convolution(const Node& node, const Conv2dOp& op) {
  using enum DeviceMemory::Kind;
  const Conv2dShape shape = shape_of(node, op, 1), full = shape_of(node, op, batch_);
  Value& x = value(node.inputs[0]);
  const Value& y = value(node.output);
  const bool is_first = graph_.value(node.inputs[0]).producer == 0;

  // A step of the whole batch has more parts than one of one image: its workspace is added by size.
  const kernels::TileShape weights_tile = kernels::conv2d_backward_weights_tile<T>(full);
  const std::size_t bytes =
      kernels::conv2d_backward_weights_workspace_bytes<T>(shape, kMultiprocessors, weights_tile);
  const std::size_t full_bytes =
      kernels::conv2d_backward_weights_workspace_bytes<T>(full, kMultiprocessors, weights_tile);
  auto* workspace = memory_.allocate<std::uint8_t>(static_cast<std::int64_t>(bytes) + 16, step);
  kernels::Conv2dBackwardWeights<T> weights{
      memory_.allocate<float>(shape.out_channels * shape.kernel_h * shape.kernel_w * shape.in_channels, step),
      op.bias ? memory_.allocate<float>(shape.out_pitch, step) : nullptr, x.data, y.gradient, workspace};
  kernels::conv2d_backward_weights(weights, shape, kMultiprocessors, nullptr, weights_tile);
  record(
      node.name, "backward weights",
      {padded_backward_weights_flops(shape, weights_tile), padded_backward_weights_flops(full, weights_tile)},
      2.0 * static_cast<double>(full_bytes > bytes ? full_bytes - bytes : 0));

  if (is_first) return;
  kernels::Conv2dBackwardData<T> data{x.gradient, y.gradient,
                                      packed_weights_.at(graph_.value(node.output).producer)};
  if (x.has_gradient) data.addend = x.gradient;
  if (x.is_relu) data.relu_output = x.data;
  x.has_gradient = true;
  const kernels::TileShape tile = kernels::conv2d_backward_data_tile<T>(full);
  kernels::conv2d_backward_data(data, shape, nullptr, tile);
  record(node.name, "backward data",
         {padded_backward_data_flops(shape, tile), padded_backward_data_flops(full, tile)});
}

void EmulatedNetwork::forward_batch_norm(const Node& node, const BatchNormOp& op) {
  const Value& x = value(node.inputs[0]);
  const Node* addition = addition_behind(node);
  const BatchNormMemory& memory = memory_of(node);
  const kernels::BatchNormShape shape = shape_of_rows(x);

  const Node& producer = graph_.node(graph_.value(node.inputs[0]).producer);
  const auto& convolution = std::get<Conv2dOp>(producer.op);
  const auto tile = kernels::conv2d_forward_tile<T>(shape_of(producer, convolution, batch_));
  const kernels::StatisticsTiles tiles =
      kernels::conv2d_statistics_tiles<T>(shape_of(producer, convolution, 1), tile);
  kernels::batch_norm_finish_statistics(
      {memory.mean, memory.inverse_deviation, nullptr, nullptr},
      {memory.gradients, memory.gradients + shape.pitch, step_values_, false},
      {memory.tiles, tiles.tiles, tiles.rows_per_tile}, shape, op.epsilon, memory.workspace, nullptr);
  record(node.name, "statistics");

  const bool relu = addition != nullptr ? std::get<AddOp>(addition->op).relu : op.relu;
  Value& y = value(addition != nullptr ? addition->output : node.output);
  const T* residual = addition != nullptr ? value(addition->inputs[1]).data : nullptr;
  kernels::batch_norm_apply(
      y.data, x.data, residual,
      {memory.parameters, memory.parameters + shape.pitch, memory.mean, memory.inverse_deviation}, relu,
      shape, nullptr, residual != nullptr && relu ? memory.signs : nullptr);
  record(node.name, "forward");
}

void EmulatedNetwork::backward_batch_norm(const Node& node, const BatchNormOp& op) {
  Value& x = value(node.inputs[0]);
  const Node* addition = addition_behind(node);
  const Value& y = value(addition != nullptr ? addition->output : node.output);
  const BatchNormMemory& memory = memory_of(node);
  const kernels::BatchNormShape shape = shape_of_rows(x);

  kernels::BatchNormGradientInputs<T> inputs{x.data, y.gradient, nullptr, nullptr, {}};
  inputs.factors = {memory.parameters, memory.parameters + shape.pitch, memory.mean,
                    memory.inverse_deviation};
  if (addition != nullptr) {
    Value& residual = value(addition->inputs[1]);
    inputs.mask = kernels::ReluMask::stored;
    inputs.signs = memory.signs;
    inputs.masked_dy = residual.gradient;
    residual.has_gradient = true;
  } else if (op.relu) {
    inputs.mask = kernels::ReluMask::recomputed;
  }
  kernels::batch_norm_backward_reduce(memory.sums, inputs, shape, nullptr);
  kernels::batch_norm_backward_finish<T>(
      {memory.gradients + 2 * shape.pitch, memory.gradients + 3 * shape.pitch, {}}, memory.coefficients,
      memory.sums, {memory.mean, memory.inverse_deviation, nullptr, nullptr}, shape, nullptr);
  record(node.name, "backward sums");
  kernels::batch_norm_backward_apply(x.gradient, inputs, memory.coefficients, shape, nullptr);
  x.has_gradient = true;
  record(node.name, "backward");
}

}  // namespace trireme::bench
