// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "src/comm/world.h"

namespace trireme {

/// Why the ranks of `group` cannot share windows of `window_bytes` each: empty if they can, else one clause
/// with figures, the same on every rank. Collective and blocking, for the thread that may call MPI.
std::string shared_memory_obstacle(const Group& group, std::size_t window_bytes);

/// What is there and what is needed in the folder where the MPI library keeps shared memory.
struct ShmRoom {
  std::string folder, host;
  std::uint64_t free_bytes = 0;
  std::uint64_t bytes_per_rank = 0;
  int ranks = 1;
};
/// "/dev/shm of node01 has 64.0 MiB free, 1.1 GiB are needed for 4 ranks", or nothing.
std::string room_obstacle(const ShmRoom& room);

}  // namespace trireme
