// SPDX-License-Identifier: Apache-2.0
// What the memory of the ranks' nodes allows a benchmark. Collective and blocking, for the thread that may
// call MPI.
#pragma once

#include <chrono>
#include <cstdint>

#include "src/comm/world.h"

namespace trireme {

/// Bytes of free memory for each rank, where the ranks of a node share it evenly: the smallest share of all
/// ranks, on every rank.
std::int64_t memory_share(const World& world, std::chrono::duration<double> timeout);

/// Bytes per second that the ranks of this node copy from memory to memory, all at the same time, one thread
/// each. Takes about half a second, and two buffers of at most 64 MiB and a quarter of `share` per rank.
double node_memcpy_bandwidth(const World& world, std::int64_t share, std::chrono::duration<double> timeout);

}  // namespace trireme
