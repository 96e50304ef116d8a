// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_report/emulated_network.h"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "kernels/simt/emulator/settings.h"

namespace trireme::bench {

namespace emulator = simt::emulator;

double NetworkReport::bytes_per_image() const {
  double bytes = 0;
  for (const Pass& pass : passes) bytes += pass.bytes(batch);
  return bytes;
}

double NetworkReport::images_per_second(const Roofline& roofline) const {
  double seconds = 0;
  for (const Pass& pass : passes) seconds += roofline.seconds(pass, batch);
  return 1 / seconds;
}

EmulatedNetwork::EmulatedNetwork(const Graph& graph, std::int64_t batch)
    : graph_(graph),
      batch_(batch),
      step_values_(memory_.allocate<kernels::StepValues>(1, DeviceMemory::Kind::step)) {
  kernels::StepValues values;
  values.valid_samples = 1;
  test::check_cuda(cudaMemcpy(step_values_, &values, sizeof values, cudaMemcpyHostToDevice), "cudaMemcpy");
  for (const trireme::Value& each : graph.values()) {
    Value value;
    const Shape& shape = each.shape;
    value.h = shape.rank() == 3 ? shape[0] : 1;
    value.w = shape.rank() == 3 ? shape[1] : 1;
    value.channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    const bool is_picture =
        each.producer >= 0 && std::holds_alternative<InputOp>(graph.node(each.producer).op);
    value.pitch = is_picture ? 4 : kernels::round_up<std::int64_t>(value.channels, kernels::kVectorSize<T>);
    value.data = memory_.allocate<T>(value.rows() * value.pitch, DeviceMemory::Kind::image);
    value.gradient = memory_.allocate<T>(value.rows() * value.pitch, DeviceMemory::Kind::image);
    values_.push_back(value);
  }
}

int EmulatedNetwork::uses(ValueId id) const {
  int count = 0;
  for (const Node& node : graph_.nodes()) count += static_cast<int>(std::ranges::count(node.inputs, id));
  return count;
}

const Node* EmulatedNetwork::batch_norm_behind(const Node& node) const {
  if (uses(node.output) != 1) return nullptr;
  for (const Node& other : graph_.nodes())
    if (std::holds_alternative<BatchNormOp>(other.op) && other.inputs[0] == node.output) return &other;
  return nullptr;
}

const Node* EmulatedNetwork::addition_behind(const Node& node) const {
  if (std::get<BatchNormOp>(node.op).relu || uses(node.output) != 1) return nullptr;
  for (const Node& other : graph_.nodes())
    if (std::holds_alternative<AddOp>(other.op) && other.inputs[0] == node.output) return &other;
  return nullptr;
}

kernels::BatchNormShape EmulatedNetwork::shape_of_rows(const Value& value) const {
  return {value.rows(), static_cast<int>(value.channels), static_cast<int>(value.pitch)};
}

EmulatedNetwork::BatchNormMemory& EmulatedNetwork::memory_of(const Node& batch_norm) {
  const NodeId id = graph_.value(batch_norm.output).producer;
  const auto [found, is_new] = batch_norms_.try_emplace(id);
  if (!is_new) return found->second;
  const kernels::BatchNormShape shape = shape_of_rows(value(batch_norm.inputs[0]));
  const std::int64_t most_tiles = kernels::divide_up<std::int64_t>(shape.rows, 8) + 1;
  const auto floats = [this](std::int64_t count, DeviceMemory::Kind kind) {
    return memory_.allocate<float>(count, kind);
  };
  using enum DeviceMemory::Kind;
  found->second = {floats(most_tiles * 2 * shape.pitch, image),
                   floats(shape.pitch, step),
                   floats(shape.pitch, step),
                   floats(4 * shape.pitch, step),
                   floats(4 * shape.pitch, step),
                   floats(most_tiles * 2 * shape.pitch, image),
                   floats(2 * shape.pitch, step),
                   nullptr,
                   memory_.allocate<std::uint8_t>(shape.rows * shape.pitch / kernels::kVectorSize<T>, image)};
  const std::size_t bytes = kernels::batch_norm_finish_workspace_bytes(most_tiles, shape.pitch);
  found->second.workspace = memory_.allocate<std::uint8_t>(static_cast<std::int64_t>(bytes) + 16, image);
  return found->second;
}

void EmulatedNetwork::record(const std::string& layer, const std::string& name, Flops flops,
                             double more_step_bytes) {
  test::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Pass pass{
      layer, name, emulator::take_counts(), 0, more_step_bytes, flops.batch / static_cast<double>(batch_)};
  double counted = 0;
  for (const emulator::KernelCounts& kernel : pass.kernels) counted += static_cast<double>(kernel.flops);
  if (counted != flops.one)
    throw std::logic_error(layer + ", " + name + ": " + std::to_string(counted) + " flops were counted, " +
                           std::to_string(flops.one) + " expected");
  for (const emulator::KernelCounts& kernel : pass.kernels)
    for (const emulator::AllocationCounts& each : kernel.allocations) {
      const double bytes =
          emulator::kSectorBytes * static_cast<double>(each.read_sectors + each.written_sectors);
      (memory_.kind_of(each.begin) == DeviceMemory::Kind::image ? pass.image_bytes : pass.step_bytes) +=
          bytes;
    }
  passes_.push_back(std::move(pass));
}

std::vector<Pass> EmulatedNetwork::run() {
  emulator::settings().counting = true;
  emulator::take_counts();
  for (const Node& node : graph_.nodes()) forward(node);
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) backward(*node);
  update();
  emulator::settings().counting = false;
  return std::move(passes_);
}

void EmulatedNetwork::forward(const Node& node) {
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, Conv2dOp>) forward_convolution(node, op);
        if constexpr (std::is_same_v<Op, BatchNormOp>) forward_batch_norm(node, op);
        if constexpr (std::is_same_v<Op, MaxPoolOp>) forward_max_pool(node, op);
        if constexpr (std::is_same_v<Op, AdaptiveAvgPoolOp>) forward_average(node, op);
        if constexpr (std::is_same_v<Op, LinearOp>) forward_linear(node, op);
        if constexpr (std::is_same_v<Op, DropoutOp>) forward_dropout(node, op);
        if constexpr (std::is_same_v<Op, FlattenOp>) forward_flatten(node);
        if constexpr (std::is_same_v<Op, SoftmaxCrossEntropyOp>) loss(node, op);
        // InputOp has nothing to run; ReluOp and AddOp are part of the passes before them.
      },
      node.op);
}

void EmulatedNetwork::backward(const Node& node) {
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, Conv2dOp>) backward_convolution(node, op);
        if constexpr (std::is_same_v<Op, BatchNormOp>) backward_batch_norm(node, op);
        if constexpr (std::is_same_v<Op, MaxPoolOp>) backward_max_pool(node, op);
        if constexpr (std::is_same_v<Op, AdaptiveAvgPoolOp>) backward_average(node, op);
        if constexpr (std::is_same_v<Op, LinearOp>) backward_linear(node, op);
        if constexpr (std::is_same_v<Op, DropoutOp>) backward_dropout(node, op);
        if constexpr (std::is_same_v<Op, FlattenOp>) backward_flatten(node);
      },
      node.op);
}

}  // namespace trireme::bench
