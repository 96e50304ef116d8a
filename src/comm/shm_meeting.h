// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "src/comm/shm_job.h"
#include "src/comm/shm_lane.h"

namespace trireme {

/// Which way a collective's elements take. All ranks come to the same one.
enum class ShmRoute {
  unknown,  ///< not all ranks have arrived
  payload,  ///< short: beside the descriptor
  direct,   ///< straight from the tensors, which lie in the shared memory
  staged,   ///< through the stage
};

/// What a collective does with tensors of other ranks.
enum class ShmAccess {
  as_job,  ///< reads the sources of its job; short ones may go beside the descriptor
  whole,   ///< reads and writes all tensors
};

/// Makes this rank's descriptor of `job` known to the others, in the order of the collectives, and finds out
/// what they call. Shared by all collectives on a lane.
class ShmMeeting {
 public:
  ShmMeeting(ShmLane& lane, const ShmJob& job, ShmAccess access, std::string description);

  /// Takes the next number.
  void begin();
  std::uint64_t number() const { return number_; }
  /// The route, once all ranks have arrived. Error if they call different things.
  ShmRoute meet();
  /// On the direct route: that rank's tensor as this process sees it. Where a broadcast reads as its job
  /// says, the root's only.
  std::byte* tensor_of(int rank) const;
  /// "ranks 2, 3" that have not arrived.
  std::string awaited() const;
  const std::string& description() const { return description_; }

 private:
  bool tell();
  void check() const;
  ShmRoute choose() const;

  ShmLane& lane_;
  const ShmJob& job_;
  const std::string description_;
  const ShmAccess access_;
  const bool is_short_;
  std::uint64_t number_ = 0;
  ShmRoute route_ = ShmRoute::unknown;
};

}  // namespace trireme
