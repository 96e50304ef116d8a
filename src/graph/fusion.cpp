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
    {Fusion::linear_relu, absorb_relu<LinearOp>},
    {Fusion::batch_norm_relu, absorb_relu<BatchNormOp>},
    {Fusion::add_relu, absorb_relu<AddOp>},
};

}  // namespace

/// Copies a graph node by node. A ReLU that its producer absorbs is not copied: its value becomes the
/// producer's. A batch norm that an addition takes over is copied in the addition's place.
class GraphRewriter {
 public:
  GraphRewriter(const Graph& graph, std::span<const Fusion> fusions)
      : source_(graph),
        fusions_(fusions),
        consumers_(graph.values().size()),
        new_value_(graph.values().size()) {
    for (const Node& node : graph.nodes())
      for (ValueId input : node.inputs) ++consumers_[static_cast<std::size_t>(input)];
    if (offered(Fusion::batch_norm_add)) find_batch_norms_to_move();
  }

  Graph rewrite() {
    result_.parameters_ = source_.parameters();
    for (const Node& node : source_.nodes()) {
      if (std::holds_alternative<ReluOp>(node.op) && absorbed(node)) continue;
      if (std::find(moved_.begin(), moved_.end(), &node) != moved_.end()) continue;
      if (const Summands summands = summands_of(node); summands.batch_norm != nullptr)
        copy_with_residual(node, summands);
      else
        copy(node, node.op, node.inputs, node.output);
    }
    return std::move(result_);
  }

 private:
  struct Summands {
    const Node* batch_norm = nullptr;  ///< null: nothing to merge
    ValueId residual = -1;
  };

  bool offered(Fusion fusion) const {
    return std::find(fusions_.begin(), fusions_.end(), fusion) != fusions_.end();
  }

  // The batch norm that an addition may take over: the last one made, whose input is still at hand.
  Summands summands_of(const Node& node) const {
    if (!std::holds_alternative<AddOp>(node.op) || !offered(Fusion::batch_norm_add)) return {};
    Summands found;
    for (std::size_t k = 0; k < 2; ++k) {
      const Node& summand = source_.node(source_.value(node.inputs[k]).producer);
      const auto* norm = std::get_if<BatchNormOp>(&summand.op);
      const bool fits = norm != nullptr && !norm->relu && !norm->residual &&
                        consumers_[static_cast<std::size_t>(summand.output)] == 1;
      if (fits && (found.batch_norm == nullptr || summand.output > found.batch_norm->output))
        found = {&summand, node.inputs[1 - k]};
    }
    return found;
  }

  void find_batch_norms_to_move() {
    for (const Node& node : source_.nodes())
      if (const Summands summands = summands_of(node); summands.batch_norm != nullptr)
        moved_.push_back(summands.batch_norm);
  }

  void copy_with_residual(const Node& addition, const Summands& summands) {
    BatchNormOp op = std::get<BatchNormOp>(summands.batch_norm->op);
    op.residual = true;
    op.relu = std::get<AddOp>(addition.op).relu;
    copy(*summands.batch_norm, op, {summands.batch_norm->inputs[0], summands.residual}, addition.output);
  }

  void copy(const Node& node, const OpAttributes& op, const std::vector<ValueId>& source_inputs,
            ValueId output) {
    std::vector<ValueId> inputs;
    inputs.reserve(source_inputs.size());
    for (ValueId input : source_inputs) inputs.push_back(new_value_[static_cast<std::size_t>(input)]);
    new_value_[static_cast<std::size_t>(output)] =
        result_.append(node.name, op, std::move(inputs), source_.value(output).shape, node.parameters);
  }

  bool absorbed(const Node& relu) {
    const ValueId between = relu.inputs[0];
    if (consumers_[static_cast<std::size_t>(between)] != 1) return false;
    const ValueId value = new_value_[static_cast<std::size_t>(between)];
    Node& producer = result_.nodes_[static_cast<std::size_t>(result_.value(value).producer)];
    for (const Pattern& pattern : kPatterns) {
      if (!offered(pattern.fusion) || !pattern.absorb(producer.op)) continue;
      new_value_[static_cast<std::size_t>(relu.output)] = value;
      return true;
    }
    return false;
  }

  const Graph& source_;
  std::span<const Fusion> fusions_;
  std::vector<int> consumers_;
  std::vector<ValueId> new_value_;  // by ValueId of the source
  std::vector<const Node*> moved_;  // batch norms that stand where an addition stood
  Graph result_;
};

Graph fuse(const Graph& graph, std::span<const Fusion> fusions) {
  return GraphRewriter(graph, fusions).rewrite();
}

}  // namespace trireme
