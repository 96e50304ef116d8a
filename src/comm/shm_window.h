// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "src/comm/world.h"

namespace trireme {

/// An MPI-3 shared window: a piece of memory per rank of one node that all of them can read and write. RAII;
/// collective to make and to destroy. Zeroed; each rank touches its own memory first.
class ShmWindow {
 public:
  /// `bytes` is the same on every rank. Error (78) on all ranks if one cannot get its memory.
  ShmWindow(const Group& group, std::size_t bytes);
  /// Leaves the window to the end of the process where the other ranks do not come to free it with this one.
  ~ShmWindow();
  ShmWindow(const ShmWindow&) = delete;
  ShmWindow& operator=(const ShmWindow&) = delete;

  std::size_t bytes() const { return bytes_; }
  /// Every rank's memory as this process sees it, aligned to 4096 bytes.
  const std::vector<std::byte*>& memories() const { return memories_; }

 private:
  void allocate();
  void find_memories();
  /// Gets the pages now, where running out can still be an error. Returns what went wrong.
  std::string touch_own() const;

  Group group_;
  std::size_t bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> memories_;
};

}  // namespace trireme
