// SPDX-License-Identifier: Apache-2.0
// A Graph compiled for one device and batch size: lists of bound ops over one arena and the flat buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/core/buffer.h"
#include "src/core/group_sum.h"
#include "src/device/device.h"
#include "src/graph/flat_layout.h"
#include "src/graph/graph.h"

namespace trireme {

enum class Mode { train, eval };

/// Runs of the same parameters share this: flat buffers, and the arena that is as large as the largest plan.
struct ModelMemory {
  Buffer* parameters = nullptr;  ///< FlatLayout::bytes
  Buffer* gradients = nullptr;   ///< FlatLayout::bytes; may be null if only eval programs are made
  Buffer* arena = nullptr;
};

/// One host batch as Program::load takes it; rows from `valid` on are padding (any content).
struct HostBatch {
  Tensor images;                             ///< [N,H,W,C] as InputFormat says, N = the program's batch
  const std::int32_t* labels = nullptr;      ///< [N]
  const std::int64_t* sample_ids = nullptr;  ///< [N]
  std::int64_t valid = 0;
};

/// Scales that one micro-batch runs with; see RunContext.
struct StepScales {
  std::int64_t global_samples = 1;  ///< samples of the whole step over all ranks
  bool accumulate = false;          ///< not the first micro-batch of the step
  bool last_micro_batch = true;     ///< gradient_ready fires
  std::uint32_t epoch = 0;
};

/// Whether passes are recorded and run again as wholes, between the places where the host must act.
struct ProgramRecording {
  bool wanted = false;
  /// Parameters after whose gradient backward's hook is to be called at once: the last of each bucket.
  /// Elsewhere the hooks of a recorded part come together when it has been started.
  std::vector<ParamId> gradient_stops;
};

/// The outcome of planning: device op plans, lifetimes and arena offsets. Made before any memory is there.
class ProgramPlan {
 public:
  /// Applies the device's fusions, plans every op, packs activations, gradients, saved values and scratch
  /// into one arena by lifetime.
  ProgramPlan(const Graph& graph, Device& device, std::int64_t batch, Mode mode,
              const InputFormat& input = {});
  ~ProgramPlan();
  ProgramPlan(ProgramPlan&&) noexcept;
  ProgramPlan& operator=(ProgramPlan&&) noexcept;

  std::size_t arena_bytes() const;
  /// Of the two input slots' pictures.
  std::size_t slot_bytes() const;
  std::int64_t batch() const;
  Mode mode() const;
  /// The table that --memory-report prints: per node shape, layout, bytes, offset, lifetime; then totals, and
  /// what the arena would be without reuse.
  std::string memory_report() const;

  struct Impl;  ///< defined in program_plan.h, for src/graph alone

 private:
  friend class Program;
  std::unique_ptr<Impl> impl_;
};

class Program {
 public:
  using ParamHook = std::function<void(ParamId)>;

  /// `seed` keys dropout. `group` sums over the ranks where ops need that (BatchNormOp::sync); null: this
  /// rank is alone. The plan's device, the memory and `group` must outlive the program.
  Program(ProgramPlan plan, const FlatLayout& layout, const ModelMemory& memory, std::uint64_t seed,
          GroupSum* group = nullptr, const ProgramRecording& recording = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::int64_t batch() const;

  /// Copies the batch into the input slot on `stream`; the host memory may be reused when `done` is reached.
  /// The next forward runs it. One batch may be loaded while another is between forward and backward, no
  /// more.
  void load(const HostBatch& batch, Stream& stream, Event& done);
  /// Calls `parameter_needed` once per parameter just before its first use.
  /// A batch without valid rows (an empty share of a step) runs nothing, but calls every hook and takes part
  /// in every sum over the ranks; backward then writes zeros, or adds nothing. Called again without a load,
  /// it runs the same batch again.
  void forward(const StepScales& scales, const ParamHook& parameter_needed);
  /// After forward in Mode::train. Calls `gradient_ready` in FlatLayout order, each as soon as it is final.
  void backward(const StepScales& scales, const ParamHook& gradient_ready);

  /// Loss sum and counts since the last zero_record(), as the last forward left them. Waits for that, not for
  /// what the device was given after it.
  StepRecord read_record();
  void zero_record();
  /// Logits of the last forward, fp32 [N,classes], copied to the host.
  std::vector<float> read_logits();

  /// Why passes are not recorded although that was wanted, or nothing.
  const std::string& recording_obstacle() const;

  /// Runs forward again on the loaded batch, op by op, and names the first node whose output is not finite;
  /// else the first parameter whose value or gradient is not finite; nothing if all is finite. Only for
  /// diagnosis.
  std::optional<std::string> find_non_finite(const StepScales& scales);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trireme
