// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/comm/hierarchical_plan.h"
#include "src/comm/shm_job.h"

namespace trireme {

/// What a rank does for a collective over nodes where all tensors of its node lie in shared memory.
class HierarchicalDirect {
 public:
  /// Reserves memory.
  explicit HierarchicalDirect(const HierarchicalJob& job);

  void set_tensor(int local_rank, std::byte* tensor) {
    tensors_[static_cast<std::size_t>(local_rank)] = tensor;
  }
  /// Makes this rank's slices, piece after piece, and puts each on its wire. True when all are there.
  bool gather(NodeWires& wires, const WorkBudget& budget);
  /// Writes the slices that have come from the wire to the node's other ranks. True when all are there.
  bool spread(const NodeWires& wires, const WorkBudget& budget);

 private:
  /// A walk over the own slices in portions.
  struct Walk {
    int piece = 0;
    std::int64_t done = 0;  // elements of the piece's slice
  };
  PartRange next_portion(Walk& walk) const;
  void gather_range(PartRange range);
  void spread_range(PartRange range) const;

  const HierarchicalJob& job_;
  std::vector<std::byte*> tensors_;
  std::vector<const void*> sources_;
  std::int64_t portion_;
  Walk gathered_, spread_;
};

}  // namespace trireme
