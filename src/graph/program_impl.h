// SPDX-License-Identifier: Apache-2.0
// The parts of a bound program; see Program in program.h.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "src/graph/program.h"
#include "src/graph/program_plan.h"

namespace trireme {

/// Where one batch lies on the device while it is loaded and worked on.
struct InputSlot {
  std::unique_ptr<Buffer> images, labels, sample_ids;
  std::unique_ptr<Event> loaded, released;
  bool was_released = false;  ///< `released` has been recorded
  std::int64_t valid = 0;
};

struct ForwardOp {
  std::unique_ptr<Op> op;
  std::vector<ParamId> needed_first;  ///< parameters that no earlier node uses
};

struct BackwardOp {
  std::unique_ptr<Op> op;
  /// The node shares a parameter with another node: its gradients start at zero and are added to.
  bool always_accumulates = false;
  std::vector<ParamId> ready;  ///< in FlatLayout order, final after this op
};

struct Program::Impl {
  Impl(ProgramPlan program_plan, const FlatLayout& flat_layout, const ModelMemory& model_memory,
       std::uint64_t seed);

  ProgramPlan::Impl& plan() { return *owned_plan.impl_; }
  void* at(BlockId block);
  Bindings bind(NodeId node);
  void bind_forward();
  void bind_backward();
  void bind_input_slots();
  /// Fills BackwardOp::ready; `node_of` is the node of each backward op, -1 for sums.
  void order_ready(const std::vector<NodeId>& node_of);
  void find_shared_parameters();
  float* parameter(ParamId p);
  float* gradient(ParamId p);

  InputSlot& current_slot() { return slots[(batches_taken + 1) % 2]; }
  RunContext context(const StepScales& scales);
  StepRecord copy_record();
  bool block_is_finite(const void* data, std::size_t bytes);

  ProgramPlan owned_plan;
  Device& device;
  FlatLayout layout;
  ModelMemory memory;
  std::uint64_t seed;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Buffer> record;
  std::array<InputSlot, 2> slots;
  std::uint64_t batches_loaded = 0, batches_taken = 0;
  std::vector<ForwardOp> forward_ops;
  std::vector<BackwardOp> backward_ops;
  std::vector<bool> is_shared;      ///< by ParamId: more than one node uses it
  std::vector<ParamId> zero_first;  ///< parameters of nodes that always accumulate
};

}  // namespace trireme
