// SPDX-License-Identifier: Apache-2.0
#include "src/comm/gpu_choice.h"

#include <fmt/ranges.h>

#include "src/core/error.h"

namespace trireme {

int gpu_index(const std::vector<GpuFacts>& visible, std::optional<int> wanted, int local_rank) {
  const int count = static_cast<int>(visible.size());
  TRIREME_ASSERT(count > 0, "a rank without a GPU does not choose one");
  if (!wanted) return local_rank % count;
  if (*wanted < count) return *wanted;
  throw make_error(Status::configuration, "--device cuda:{}: this rank sees {} GPU{}", *wanted, count,
                   count == 1 ? "" : "s")
      .hint("they are counted from 0; --device cuda takes the one of the rank's number on its node");
}

int count_sharing(const std::vector<std::string>& uuids, int local_rank, int ranks_per_gpu,
                  const std::string& host) {
  const std::string& own = uuids.at(static_cast<std::size_t>(local_rank));
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < uuids.size(); ++rank)
    if (uuids[rank] == own) ranks.push_back(static_cast<int>(rank));
  const int sharing = static_cast<int>(ranks.size());
  if (sharing <= ranks_per_gpu) return sharing;
  throw make_error(Status::configuration, "ranks {} of the node would share one GPU, {}",
                   fmt::join(ranks, ", "), own)
      .at(host)
      .hint(fmt::format("start as many ranks on a node as it has GPUs, let the launcher give each its own "
                        "(--gpus-per-task=1), or allow it with --ranks-per-gpu {}",
                        sharing));
}

GpuChoice choose_gpu(const std::vector<GpuFacts>& visible, std::optional<int> wanted, int ranks_per_gpu,
                     const World& world, std::chrono::duration<double> timeout) {
  GpuChoice choice;
  choice.index = gpu_index(visible, wanted, world.local_rank());
  const std::vector<std::string> uuids =
      world.node().allgather_text(visible[static_cast<std::size_t>(choice.index)].uuid, timeout,
                                  "the ranks of this node to have chosen their GPUs");
  choice.sharing = count_sharing(uuids, world.local_rank(), ranks_per_gpu, world.host());
  return choice;
}

}  // namespace trireme
