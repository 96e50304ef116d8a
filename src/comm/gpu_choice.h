// SPDX-License-Identifier: Apache-2.0
// Which GPU a rank takes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/world.h"
#include "src/device/accelerator.h"

namespace trireme {

struct GpuChoice {
  int index = 0;    ///< among the GPUs that this rank sees
  int sharing = 1;  ///< ranks of the node that took the same one, this rank included
};

/// The GPU of a rank that sees `visible` of them: `wanted`, or its number on the node modulo what it sees.
/// Where a launcher shows each rank its own GPU as number 0, uuids tell them apart. Error (78) for an index
/// that is not there.
int gpu_index(const std::vector<GpuFacts>& visible, std::optional<int> wanted, int local_rank);

/// Error (78) naming ranks, GPU and cure where more than `ranks_per_gpu` ranks of a node have one uuid; else
/// how many ranks share that of `local_rank`. `uuids` is by rank on the node.
int count_sharing(const std::vector<std::string>& uuids, int local_rank, int ranks_per_gpu,
                  const std::string& host);

/// Both, with the ranks of the node. Collective.
GpuChoice choose_gpu(const std::vector<GpuFacts>& visible, std::optional<int> wanted, int ranks_per_gpu,
                     const World& world, std::chrono::duration<double> timeout);

}  // namespace trireme
