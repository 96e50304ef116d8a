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

/// A part of a pass: ops with nothing for the host to do between them.
struct Segment {
  std::size_t begin = 0, end = 0;  ///< of the pass's ops
  bool records = false;
  /// By what ops are run with that is not in device memory: see Program::Impl::variant_of.
  struct Variant {
    bool was_run = false;  ///< once directly: a device may set itself up in an op's first run
    std::unique_ptr<Recording> recording;
  };
  std::array<Variant, 4> variants = {};
};

struct Program::Impl {
  Impl(ProgramPlan program_plan, const FlatLayout& flat_layout, const ModelMemory& model_memory,
       std::uint64_t seed, GroupSum* group, const ProgramRecording& recording);

  ProgramPlan::Impl& plan() { return *owned_plan.impl_; }
  void* at(BlockId block);
  Bindings bind(NodeId node);
  void bind_forward();
  void bind_backward();
  void bind_input_slots();
  /// Fills BackwardOp::ready; `node_of` is the node of each backward op, -1 for sums.
  void order_ready(const std::vector<NodeId>& node_of);
  void find_shared_parameters();
  void cut_into_segments(const std::vector<ParamId>& gradient_stops);
  /// Which of a segment's recordings: the input slot and whether gradients are added up are frozen in them.
  std::size_t variant_of(const RunContext& context) const {
    return 2 * ((batches_taken + 1) % 2) + (context.accumulate ? 1 : 0);
  }
  /// Runs `ops`, which run what the segment holds, directly or as they were recorded.
  void run(Segment& segment, const RunContext& context, const std::function<void()>& ops);
  void run_forward(std::size_t op, const RunContext& context);
  void run_backward(std::size_t op, RunContext context);
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
  void copy_record_to_host();
  bool is_finite(const ValueSpec& spec, const void* data);

  ProgramPlan owned_plan;
  Device& device;
  FlatLayout layout;
  ModelMemory memory;
  std::uint64_t seed;
  GroupSum* group;  ///< null: this rank is alone
  Stream& stream;
  std::unique_ptr<Buffer> record, group_sums, step;
  std::unique_ptr<Buffer> host_record;  ///< a copy of the record as the last forward left it
  std::unique_ptr<Event> record_copied;
  std::array<InputSlot, 2> slots;
  std::uint64_t batches_loaded = 0, batches_taken = 0;
  std::vector<ForwardOp> forward_ops;
  std::vector<BackwardOp> backward_ops;
  bool records = false;
  std::string recording_obstacle;
  std::vector<Segment> forward_segments, backward_segments;
  std::vector<bool> is_shared;      ///< by ParamId: more than one node uses it
  std::vector<ParamId> zero_first;  ///< parameters of nodes that always accumulate
};

}  // namespace trireme
