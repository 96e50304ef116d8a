// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/shm_job.h"
#include "src/comm/shm_lane.h"

namespace trireme {

/// A rank's work where tensors lie outside the shared memory: through the stage, in rounds.
class ShmStaged {
 public:
  /// Reserves memory.
  ShmStaged(ShmLane& lane, const ShmJob& job);

  /// After all staged collectives before it.
  void begin();
  /// Works within the budget, never waits; true when this rank has all that it needs.
  bool advance(const WorkBudget& budget);
  /// "ranks 2, 3" whose part of the next round is missing.
  std::string awaited() const;

 private:
  struct Round {
    std::int64_t begin, end;  // elements of each row
  };
  Round elements_of(std::uint64_t round) const;
  bool put();
  bool combine();
  bool take();
  void copy_sums(std::uint64_t round) const;

  ShmLane& lane_;
  const ShmJob& job_;
  const bool sums_in_slices_;
  std::int64_t round_elements_;
  std::uint64_t rounds_;
  std::uint64_t first_ = 0, put_ = 0, combined_ = 0, taken_ = 0;  // counted over all collectives of the lane
  std::vector<const void*> from_;
};

}  // namespace trireme
