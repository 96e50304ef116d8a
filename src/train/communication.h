// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/comm/comm_thread.h"
#include "src/comm/communicator.h"
#include "src/comm/world.h"
#include "src/train/compute.h"
#include "src/train/core_binding.h"
#include "src/train/run_tuning.h"

namespace trireme {

/// How communicators get at the GPU of a rank, and at NCCL. Must outlive them.
class GpuAccess {
 public:
  GpuAccess(const Compute& compute, Device& device);
  /// Null on the CPU.
  const GpuCommunication* get() const { return gpu_ ? &*gpu_ : nullptr; }

 private:
  std::optional<GpuCommunication> gpu_;
};

/// The communicators of a run and the thread that drives them. From its construction on only that thread
/// calls MPI. Gradients and the small records have a communicator each, so that neither waits for the other's
/// order.
struct Communication {
  /// Collective over `group`. `limit` is for this and for collectives until the thread gets another one. What
  /// the gradients' communicator is tuned by is measured, unless `options` have it or `resumed` was measured
  /// by ranks that lay on their nodes as these do.
  Communication(CommunicatorOptions options, const Group& group, const WaitLimit& limit,
                const CoreBinding& cores, bool sums_in_passes = false,
                const std::optional<RunTuning>& resumed = {});

  CommunicatorChoice choice;  ///< of the gradients' communicator
  RunTuning tuning;           ///< of the gradients' communicator
  std::unique_ptr<Communicator> gradients, scalars;
  std::unique_ptr<Communicator> passes;  ///< for BatchNormOp::sync, if `sums_in_passes`; null on one rank
  std::unique_ptr<CommThread> thread;    // ends before the communicators do
};

/// Status 70, naming the ranks that differ, unless `hash` is the same on every rank. Collective.
void check_equal_over_ranks(Communicator& communicator, Stream& stream, std::uint64_t hash,
                            std::string_view what);

/// Returns when every rank has called it. `what` names the wait in messages.
void wait_for_all_ranks(Communicator& communicator, Stream& stream, std::string_view what);

/// Every rank returns root's text, cut at 1 KiB. Collective.
std::string broadcast_short_text(Communicator& communicator, Stream& stream, std::string_view text, int root,
                                 std::string_view what);

}  // namespace trireme
