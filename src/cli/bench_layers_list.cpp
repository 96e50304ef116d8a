// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers_list.h"

#include <algorithm>

#include "src/core/error.h"

namespace trireme {
namespace {

std::int64_t last(const Shape& shape) {
  return shape[shape.rank() - 1];
}

/// Whether the only reader of a value is a batch norm.
bool feeds_batch_norm(const Graph& graph, ValueId value) {
  int readers = 0;
  bool is_batch_norm = false;
  for (const Node& node : graph.nodes())
    if (std::ranges::find(node.inputs, value) != node.inputs.end()) {
      ++readers;
      is_batch_norm = std::holds_alternative<BatchNormOp>(node.op);
    }
  return readers == 1 && is_batch_norm;
}

bool is_alike(const BenchLayer& a, const BenchLayer& b) {
  return a.op == b.op && a.input == b.input && a.feeds_batch_norm == b.feeds_batch_norm &&
         a.has_input_gradient == b.has_input_gradient;
}

}  // namespace

std::int64_t BenchLayer::weights() const {
  const auto* const convolution = std::get_if<Conv2dOp>(&op);
  const std::int64_t taps = convolution != nullptr ? convolution->kernel_h * convolution->kernel_w : 1;
  return last(output) * taps * last(input);
}

bool BenchLayer::has_bias() const {
  if (const auto* const convolution = std::get_if<Conv2dOp>(&op)) return convolution->bias;
  return std::get<LinearOp>(op).bias;
}

double BenchLayer::flops() const {
  const std::int64_t pixels = output.count() / last(output);
  return 2 * static_cast<double>(pixels) * static_cast<double>(weights());
}

std::string BenchLayer::text() const {
  const auto* const convolution = std::get_if<Conv2dOp>(&op);
  if (convolution == nullptr) return fmt::format("{} to {}", last(input), last(output));
  std::string text = fmt::format("{}x{}x{} to {}, {}x{}", input[0], input[1], input[2], last(output),
                                 convolution->kernel_h, convolution->kernel_w);
  if (convolution->stride_h != 1) text += fmt::format(" /{}", convolution->stride_h);
  return text;
}

std::vector<BenchLayer> bench_layers(const Graph& graph, const std::string& only) {
  std::vector<BenchLayer> layers;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Conv2dOp>(node.op) && !std::holds_alternative<LinearOp>(node.op)) continue;
    if (node.name.find(only) == std::string::npos) continue;
    BenchLayer layer{node.name, 1, node.op, graph.value(node.inputs[0]).shape,
                     graph.value(node.output).shape};
    layer.feeds_batch_norm = feeds_batch_norm(graph, node.output);
    layer.has_input_gradient =
        !std::holds_alternative<InputOp>(graph.node(graph.value(node.inputs[0]).producer).op);
    const auto known = std::ranges::find_if(layers, [&](const BenchLayer& b) { return is_alike(layer, b); });
    if (known == layers.end())
      layers.push_back(std::move(layer));
    else
      ++known->count;
  }
  if (layers.empty())
    throw make_error(Status::configuration, "no convolution or linear layer has '{}' in its name", only)
        .at("--only");
  return layers;
}

}  // namespace trireme
