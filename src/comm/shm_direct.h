// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/reduce.h"
#include "src/comm/shm_job.h"

namespace trireme {

/// A rank's work where it can see the whole source of every rank: a loop over a range of elements, in pieces.
class ShmDirect {
 public:
  /// Reserves memory.
  explicit ShmDirect(const ShmJob& job);

  /// Where rank `rank`'s source begins. To be called for all ranks whose source is read.
  void set_source(int rank, std::byte* source) { sources_[static_cast<std::size_t>(rank)] = source; }
  /// The whole result, into this rank's own memory.
  void begin_own();
  /// Allreduce only: this rank's slice, into the sources of all.
  void begin_slice();
  /// Works within the budget; true when all is done.
  bool advance(const WorkBudget& budget);

 private:
  const ShmJob& job_;
  std::vector<std::byte*> sources_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  bool to_all_ = false;
  PartRange range_;
  std::int64_t piece_ = 0;
};

}  // namespace trireme
