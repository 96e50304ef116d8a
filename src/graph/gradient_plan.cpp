// SPDX-License-Identifier: Apache-2.0
// Backward as a list of steps. Nodes are visited in reverse. When a node's turn comes, all consumers of its
// output have been visited, so the gradient of its output is whole. Its backward gives each input a
// contribution: a block of its own, the output's gradient overwritten, or (a plain addition) the output's
// gradient itself. The first contribution to a value becomes its gradient; every further one is added by a
// step of its own, or by the op that makes it, where that can add (OpFacts::adds_to_input_grad).
//
// A block may hold the gradients of several values at a time. It counts its holders: values whose gradient it
// is and whose node has not been visited, and contributions under way. Only a block with no other holder is
// overwritten.
#include <variant>

#include "src/core/error.h"
#include "src/graph/program_plan.h"

namespace trireme {

namespace {

class GradientPlanner {
 public:
  explicit GradientPlanner(ProgramPlan::Impl& plan)
      : plan_(plan), gradient_(plan.graph.values().size(), kNoBlock) {}

  void run() {
    for (NodeId n = plan_.forward_steps() - 1; n >= 0; --n)
      if (plan_.node(n).has_backward) visit(n);
  }

 private:
  struct Contribution {
    ValueId value;
    BlockId block;
    bool is_sum = false;  ///< holds what the value's gradient was, too
  };

  void visit(NodeId n) {
    const BlockId output_grad = gradient_[static_cast<std::size_t>(plan_.graph.node(n).output)];
    const std::vector<Contribution> contributions =
        plan_.node(n).facts().grads_are_aliases ? pass_on(n, output_grad) : run_backward(n, output_grad);
    for (const Contribution& contribution : contributions) ++holders(contribution.block);
    if (output_grad != kNoBlock) --holders(output_grad);
    for (const Contribution& contribution : contributions) {
      --holders(contribution.block);
      contribute(contribution);
    }
  }

  // Every input's contribution is the output's gradient.
  std::vector<Contribution> pass_on(NodeId n, BlockId output_grad) {
    std::vector<Contribution> contributions;
    for (ValueId input : plan_.graph.node(n).inputs) {
      TRIREME_ASSERT(same_form(plan_.spec(input), plan_.node(n).facts().output),
                     "aliased gradients look the same");
      if (wants_gradient(input)) contributions.push_back({input, output_grad});
    }
    return contributions;
  }

  std::vector<Contribution> run_backward(NodeId n, BlockId output_grad) {
    const Node& node = plan_.graph.node(n);
    const PlannedNode& planned = plan_.node(n);
    const int step = next_step();
    NodeBackward backward{n, output_grad, scratch(n, planned.facts().backward_scratch_bytes), {}, kNoBlock};
    std::vector<Contribution> contributions;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      BlockId block = kNoBlock;
      if (k == 0 && wants_gradient(input) && planned.facts().adds_to_input_grad && has_gradient(input)) {
        backward.addend = gradient_[static_cast<std::size_t>(input)];
        block = holders(backward.addend) == 1 ? backward.addend : gradient_block(n, k, output_grad);
        contributions.push_back({input, block, true});
      } else if (wants_gradient(input)) {
        const BlockId equal = equal_gradient(n, contributions, input);
        if (equal == kNoBlock) block = gradient_block(n, k, output_grad);
        contributions.push_back({input, equal == kNoBlock ? block : equal});
      }
      backward.input_grads.push_back(block);
    }
    touch_all(node, planned, backward, step);
    plan_.backward.emplace_back(std::move(backward));
    return contributions;
  }

  // The inputs of an addition have the same gradient, ReLU or not, unless its device says otherwise: one
  // computation serves both.
  BlockId equal_gradient(NodeId n, const std::vector<Contribution>& before, ValueId input) const {
    const bool is_addition = std::holds_alternative<AddOp>(plan_.graph.node(n).op);
    if (!is_addition || plan_.node(n).facts().input_grads_differ || before.empty()) return kNoBlock;
    return same_form(plan_.spec(before.front().value), plan_.spec(input)) ? before.front().block : kNoBlock;
  }

  BlockId gradient_block(NodeId n, std::size_t k, BlockId output_grad) {
    const ValueId input = plan_.graph.node(n).inputs[k];
    const std::size_t bytes = plan_.spec(input).element_bytes();
    const OpFacts& facts = plan_.node(n).facts();
    const bool in_place = static_cast<int>(k) == facts.in_place_gradient && output_grad != kNoBlock &&
                          facts.input_grad_may_overwrite_output_grad && holders(output_grad) == 1 &&
                          plan_.block(output_grad).use.bytes == bytes;
    if (in_place) return output_grad;
    return add(Block::Kind::gradient, plan_.graph.value(input).producer, bytes);
  }

  void touch_all(const Node& node, const PlannedNode& planned, const NodeBackward& backward, int step) {
    const OpFacts& facts = planned.facts();
    plan_.touch(planned.saved, step);
    plan_.touch(backward.output_grad, step);
    plan_.touch(backward.addend, step);
    for (BlockId block : backward.input_grads) plan_.touch(block, step);
    if (facts.backward_needs_output) plan_.touch(planned.output, step);
    if (facts.backward_needs_inputs)
      for (ValueId input : node.inputs) plan_.touch(plan_.producer(input).output, step);
  }

  void contribute(const Contribution& contribution) {
    BlockId& gradient = gradient_[static_cast<std::size_t>(contribution.value)];
    if (contribution.is_sum) {
      --holders(gradient);
      gradient = contribution.block;
    } else if (gradient != kNoBlock) {
      const BlockId sum = add_up(contribution.value, gradient, contribution.block);
      --holders(gradient);
      gradient = sum;
    } else {
      gradient = contribution.block;
    }
    ++holders(gradient);
  }

  // Adds two contributions, in the place of one of them where nobody else holds it; returns the block of the
  // sum.
  BlockId add_up(ValueId value, BlockId present, BlockId more) {
    const NodeId producer = plan_.graph.value(value).producer;
    ValueSpec spec = plan_.spec(value);
    spec.bytes = spec.element_bytes();
    spec.side_bytes = 0;
    GradientSum step{value,    plan_.device->plan_op({AddOp{}, {spec, spec}, spec.shape, false}),
                     present,  more,
                     kNoBlock, kNoBlock};
    const OpFacts& facts = step.op->facts();
    TRIREME_ASSERT(facts.output.bytes == spec.bytes && facts.saved_bytes == 0, "a sum looks like its terms");
    const bool distinct = present != more;
    if (distinct && facts.output_may_overwrite_input && holders(present) == 1) {
      step.sum = present;
    } else if (distinct && facts.output_may_overwrite_input && holders(more) == 0) {
      std::swap(step.a, step.b);
      step.sum = more;
    } else {
      step.sum = add(Block::Kind::sum, producer, spec.bytes);
    }
    step.scratch = scratch(producer, facts.forward_scratch_bytes);
    for (BlockId block : {step.a, step.b, step.sum}) plan_.touch(block, next_step());
    const BlockId sum = step.sum;
    plan_.backward.emplace_back(std::move(step));
    return sum;
  }

  int next_step() const { return plan_.steps(); }
  bool wants_gradient(ValueId value) const { return plan_.producer(value).has_backward; }
  bool has_gradient(ValueId value) const { return gradient_[static_cast<std::size_t>(value)] != kNoBlock; }

  BlockId add(Block::Kind kind, NodeId node, std::size_t bytes) {
    return plan_.add_block(kind, node, bytes, next_step());
  }
  BlockId scratch(NodeId node, std::size_t bytes) { return add(Block::Kind::scratch, node, bytes); }

  int& holders(BlockId block) {
    if (holders_.size() <= static_cast<std::size_t>(block))
      holders_.resize(static_cast<std::size_t>(block) + 1);
    return holders_[static_cast<std::size_t>(block)];
  }

  ProgramPlan::Impl& plan_;
  std::vector<BlockId> gradient_;  // by ValueId
  std::vector<int> holders_;       // by BlockId
};

}  // namespace

void plan_backward(ProgramPlan::Impl& plan) {
  GradientPlanner(plan).run();
}

}  // namespace trireme
