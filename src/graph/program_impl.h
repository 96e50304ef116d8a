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

/// What one pass of an op sums over all ranks between its two parts; no values for most ops.
struct OpSums {
  std::vector<double> values;  ///< host copy; after the pass the sums
  std::string what;            ///< "batch norm statistics of layer2.0.bn1, forward"
};

struct ForwardOp {
  std::unique_ptr<Op> op;
  OpSums sums;
  std::vector<ParamId> needed_first;  ///< parameters that no earlier node uses
};

struct BackwardOp {
  std::unique_ptr<Op> op;
  OpSums sums;
  /// The node shares a parameter with another node: its gradients start at zero and are added to.
  bool always_accumulates = false;
  std::vector<ParamId> ready;  ///< in FlatLayout order, final after this op
};

struct Program::Impl {
  Impl(ProgramPlan program_plan, const FlatLayout& flat_layout, const ModelMemory& model_memory,
       std::uint64_t seed, GroupSum* group);

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
  /// Runs one pass of an op, with its sums over all ranks where it has some. Without valid samples nothing
  /// runs, but this rank's zeros take part in the sums.
  void run(Op& op, OpSums& sums, const RunContext& context);
  Tensor device_sums(const OpSums& sums);
  /// Runs a forward op as run() does, but with the sums of the last forward pass instead of new ones.
  void run_alone(ForwardOp& forward, const RunContext& context);
  StepRecord copy_record();
  bool block_is_finite(const void* data, std::size_t bytes);

  ProgramPlan owned_plan;
  Device& device;
  FlatLayout layout;
  ModelMemory memory;
  std::uint64_t seed;
  GroupSum* group;  ///< null: this rank is alone
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Buffer> record, group_sums;
  std::array<InputSlot, 2> slots;
  std::uint64_t batches_loaded = 0, batches_taken = 0;
  std::vector<ForwardOp> forward_ops;
  std::vector<BackwardOp> backward_ops;
  std::vector<bool> is_shared;      ///< by ParamId: more than one node uses it
  std::vector<ParamId> zero_first;  ///< parameters of nodes that always accumulate
};

}  // namespace trireme
