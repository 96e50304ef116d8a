// SPDX-License-Identifier: Apache-2.0
// What planning a program leaves behind; see ProgramPlan in program.h.
//
// Steps are counted through forward, one per node, and on through backward. Everything that lives in the
// arena is a block with the steps of its first and last use. Values written in place share a block; so do
// gradients that are equal or that overwrite one another.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "src/graph/memory_plan.h"
#include "src/graph/program.h"

namespace trireme {

using BlockId = int;
constexpr BlockId kNoBlock = -1;

struct Block {
  enum class Kind { output, gradient, sum, saved, scratch };
  Kind kind = Kind::output;
  NodeId node = -1;  ///< whose output (or its gradient), saved values or scratch this is
  MemoryInterval use;
  std::size_t offset = 0;
};

struct PlannedNode {
  std::unique_ptr<OpPlan> op;
  bool has_backward = false;  ///< it has parameters, or a node before it has
  BlockId output = kNoBlock, saved = kNoBlock, scratch = kNoBlock;

  const OpFacts& facts() const { return op->facts(); }
};

/// The backward pass of one node. Nodes whose gradients are aliases have none.
struct NodeBackward {
  NodeId node = -1;
  BlockId output_grad = kNoBlock;  ///< none for the loss
  BlockId scratch = kNoBlock;
  std::vector<BlockId> input_grads;  ///< none where no gradient is wanted
  BlockId addend = kNoBlock;         ///< Bindings::input_grad_addend
};

/// sum = a + b: gradients of one value that come from two of its consumers.
struct GradientSum {
  ValueId value = -1;
  std::unique_ptr<OpPlan> op;
  BlockId a = kNoBlock, b = kNoBlock, sum = kNoBlock, scratch = kNoBlock;
};

using BackwardStep = std::variant<NodeBackward, GradientSum>;

struct ProgramPlan::Impl {
  Graph graph;  ///< after fusion
  Device* device = nullptr;
  std::int64_t batch = 0;
  Mode mode = Mode::train;
  InputFormat input;
  std::vector<PlannedNode> nodes;
  std::vector<BackwardStep> backward;
  std::vector<Block> blocks;
  std::size_t arena_bytes = 0;

  PlannedNode& node(NodeId id) { return nodes[static_cast<std::size_t>(id)]; }
  const PlannedNode& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  const PlannedNode& producer(ValueId value) const { return node(graph.value(value).producer); }
  const ValueSpec& spec(ValueId value) const { return producer(value).facts().output; }
  Block& block(BlockId id) { return blocks[static_cast<std::size_t>(id)]; }
  ValueId logits() const { return graph.nodes().back().inputs[0]; }
  int forward_steps() const { return static_cast<int>(nodes.size()); }
  int steps() const { return forward_steps() + static_cast<int>(backward.size()); }

  /// One picture as it comes into an input slot.
  Shape stored_image() const { return input.dtype == DType::u8 ? input.stored : graph.image_shape(); }
  std::size_t slot_image_bytes() const {
    return static_cast<std::size_t>(stored_image().with_outer(batch).count()) * size_of(input.dtype);
  }

  /// Memory for the most values that an op sums over all ranks.
  std::size_t group_sum_bytes() const;

  /// A new block used at `step`; kNoBlock for no bytes.
  BlockId add_block(Block::Kind kind, NodeId node, std::size_t bytes, int step);
  /// Extends the block's use to `step`. Does nothing for kNoBlock.
  void touch(BlockId id, int step);
};

/// Plans every op of the graph. Error (78) for what cannot be trained.
void plan_ops(ProgramPlan::Impl& plan);
/// Gives every output, saved value and forward scratch its block, writing in place where nobody needs the
/// input.
void plan_forward(ProgramPlan::Impl& plan);
/// Lists the steps of backward and gives gradients and backward scratch their blocks.
void plan_backward(ProgramPlan::Impl& plan);

/// Layouts and sizes are the same, so that the gradient of one value may be that of the other.
bool same_form(const ValueSpec& a, const ValueSpec& b);
/// "dense" or the device's name of the layout.
std::string layout_text(const ValueSpec& spec);

}  // namespace trireme
