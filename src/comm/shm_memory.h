// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "src/comm/shm_lane.h"
#include "src/comm/shm_window.h"
#include "src/core/buffer.h"

namespace trireme {

/// A node's window, and the buffers in this rank's part of it. Kept alive by its buffers. Collective to make
/// and to destroy; for the thread that may call MPI.
class ShmMemory {
 public:
  /// Room for buffers of `buffer_bytes` in all, each rounded up to whole pages.
  ShmMemory(const Group& group, std::size_t buffer_bytes);

  /// What a rank's memory takes for buffers of `buffer_bytes`.
  static std::size_t bytes_for(std::size_t buffer_bytes);
  std::size_t bytes() const { return window_.bytes(); }
  /// `names`: the ranks as messages call them.
  ShmLane make_lane(std::vector<int> names) const;
  /// Every rank has made its lane.
  void meet(const char* what) const;
  /// Zeroed memory that the other ranks can see, or nothing if there is not enough left.
  static std::unique_ptr<Buffer> allocate(const std::shared_ptr<ShmMemory>& memory, std::size_t bytes);

 private:
  class SharedBuffer;
  std::optional<std::size_t> find_room(std::size_t bytes) const;

  Group group_;
  ShmWindow window_;
  std::map<std::size_t, std::size_t> buffers_;  // begin and end of those that live
};

}  // namespace trireme
