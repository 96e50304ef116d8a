// SPDX-License-Identifier: Apache-2.0
#include "src/graph/fusion.h"

#include <algorithm>
#include <vector>

namespace trireme {

namespace {

// The op with ReLU at its end if it is the pattern's first half and has none yet.
template <typename Producer>
bool absorb_relu(OpAttributes& op) {
  auto* producer = std::get_if<Producer>(&op);
  if (producer == nullptr || producer->relu) return false;
  producer->relu = true;
  return true;
}

struct Pattern {
  Fusion fusion;
  bool (*absorb)(OpAttributes& op);
};

constexpr Pattern kPatterns[] = {
    {Fusion::conv_relu, absorb_relu<Conv2dOp>},
    {Fusion::batch_norm_relu, absorb_relu<BatchNormOp>},
    {Fusion::add_relu, absorb_relu<AddOp>},
};

}  // namespace

/// Copies a graph node by node. A ReLU that its producer absorbs is not copied: its value becomes the
/// producer's.
class GraphRewriter {
 public:
  GraphRewriter(const Graph& graph, std::span<const Fusion> fusions)
      : source_(graph),
        fusions_(fusions),
        consumers_(graph.values().size()),
        new_value_(graph.values().size()) {
    for (const Node& node : graph.nodes())
      for (ValueId input : node.inputs) ++consumers_[static_cast<std::size_t>(input)];
  }

  Graph rewrite() {
    result_.parameters_ = source_.parameters();
    for (const Node& node : source_.nodes()) {
      if (std::holds_alternative<ReluOp>(node.op) && absorbed(node)) continue;
      std::vector<ValueId> inputs;
      for (ValueId input : node.inputs) inputs.push_back(new_value_[static_cast<std::size_t>(input)]);
      new_value_[static_cast<std::size_t>(node.output)] = result_.append(
          node.name, node.op, std::move(inputs), source_.value(node.output).shape, node.parameters);
    }
    return std::move(result_);
  }

 private:
  bool absorbed(const Node& relu) {
    const ValueId between = relu.inputs[0];
    if (consumers_[static_cast<std::size_t>(between)] != 1) return false;
    const ValueId value = new_value_[static_cast<std::size_t>(between)];
    Node& producer = result_.nodes_[static_cast<std::size_t>(result_.value(value).producer)];
    for (const Pattern& pattern : kPatterns) {
      const bool offered = std::find(fusions_.begin(), fusions_.end(), pattern.fusion) != fusions_.end();
      if (!offered || !pattern.absorb(producer.op)) continue;
      new_value_[static_cast<std::size_t>(relu.output)] = value;
      return true;
    }
    return false;
  }

  const Graph& source_;
  std::span<const Fusion> fusions_;
  std::vector<int> consumers_;
  std::vector<ValueId> new_value_;  // by ValueId of the source
  Graph result_;
};

Graph fuse(const Graph& graph, std::span<const Fusion> fusions) {
  return GraphRewriter(graph, fusions).rewrite();
}

}  // namespace trireme
