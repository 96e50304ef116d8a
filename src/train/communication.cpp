// SPDX-License-Identifier: Apache-2.0
#include "src/train/communication.h"

#include <array>
#include <cstring>

#include "src/comm/mpi_progress.h"
#include "src/comm/scalar_record.h"
#include "src/comm/watchdog.h"
#include "src/core/error.h"
#include "src/core/hash.h"

namespace trireme {

namespace {

/// Making communicators calls MPI in ways that cannot be given a deadline.
Watchdog::Wait making_of_communicators(const Group& group, const WaitLimit& limit) {
  return {"all ranks to make their communicators",
          fmt::format("a rank is stopped or has lost its connection; {} allows longer waits", limit.setting),
          group.rank(), limit.timeout};
}

}  // namespace

GpuAccess::GpuAccess(const Compute& compute, Device& device) {
  if (compute.kind != DeviceKind::cuda) return;
  gpu_.emplace();
  gpu_->device = &device;
  gpu_->nccl = compute.accelerator->nccl(gpu_->nccl_obstacle);
  gpu_->shares_gpu = compute.shares_gpu;
}

Communication::Communication(CommunicatorOptions options, const Group& group, const WaitLimit& limit,
                             const CoreBinding& cores, bool sums_in_passes,
                             const std::optional<RunTuning>& resumed) {
  const Watchdog watchdog(making_of_communicators(group, limit));
  choice = choose_communicator(options, group, limit.timeout);
  tuning = {choice.kind, choice.topology.text(), options.tuning, {}};
  const CoreBinding::HelperScope on_helper_cores(cores);
  if (choice.uses_tuning && group.size() > 1) {
    if (resumed && resumed->topology == tuning.topology) tuning.messages = resumed->messages;
    if (!tuning.messages.is_measured()) tuning.messages = measure_tuning(group, limit.timeout);
  }
  options.kind = choice.kind;
  options.tuning = tuning.messages;
  std::unique_ptr<ProgressExchange> progress;
  if (group.size() > 1) progress = std::make_unique<MpiProgress>(group, limit.timeout);
  thread = std::make_unique<CommThread>(std::move(progress), limit);
  gradients = make_communicator(options, group, *thread);
  scalars = make_communicator({"mpi"}, group, *thread);
  if (sums_in_passes && group.size() > 1) passes = make_communicator({"mpi"}, group, *thread);
}

void check_equal_over_ranks(Communicator& communicator, Stream& stream, std::uint64_t hash,
                            std::string_view what) {
  const std::vector<std::uint64_t> all = allgather_u64(communicator, stream, hash, what);
  std::string different;
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) different += fmt::format("{}{}", different.empty() ? "" : ", ", rank);
  if (different.empty()) return;
  throw make_error(Status::internal, "ranks no longer hold the same {}: rank 0 has hash {}, ranks {} differ",
                   what, hex_of(all[0]), different)
      .hint("unequal hardware, libraries or a memory fault; the last checkpoint was equal on all ranks");
}

void wait_for_all_ranks(Communicator& communicator, Stream& stream, std::string_view what) {
  std::int64_t nothing = 0;
  communicator.wait(communicator.allreduce(row_of(&nothing, 1), stream, what), stream);
}

std::string broadcast_short_text(Communicator& communicator, Stream& stream, std::string_view text, int root,
                                 std::string_view what) {
  std::array<unsigned char, 1024> bytes{};
  std::memcpy(bytes.data(), text.data(), std::min(text.size(), bytes.size() - 1));
  communicator.wait(communicator.broadcast(row_of(bytes.data(), std::ssize(bytes)), root, stream, what),
                    stream);
  return reinterpret_cast<const char*>(bytes.data());
}

}  // namespace trireme
