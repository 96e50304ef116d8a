// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trireme {

/// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryInterval {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< by interval, multiples of kArenaAlignment; 0 for empty intervals
  std::size_t bytes = 0;             ///< of the whole arena
};

constexpr std::size_t kArenaAlignment = 256;
constexpr std::size_t arena_aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Places intervals so that those in use at the same step never overlap. A pure function of its argument.
MemoryPlan plan_memory(std::span<const MemoryInterval> intervals);

/// The most bytes in use at any step: no plan can be smaller.
std::size_t peak_bytes(std::span<const MemoryInterval> intervals);

}  // namespace trireme
