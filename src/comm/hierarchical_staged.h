// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/comm/hierarchical_plan.h"
#include "src/comm/shm_staged.h"

namespace trireme {

/// What a rank does for a collective over nodes where the tensors of its node lie anywhere. Only one per node
/// works at a time.
class HierarchicalStaged {
 public:
  /// Reserves memory.
  HierarchicalStaged(ShmLane& lane, const HierarchicalJob& job);

  /// True when this rank's slices are on their wires.
  bool gather(NodeWires& wires, const WorkBudget& budget);
  /// True when this rank has everything.
  bool spread(const NodeWires& wires, const WorkBudget& budget);
  /// Ranks of the node; nothing while it waits for a wire.
  std::string awaited() const;

 private:
  /// A collective of the node on a range of the tensor.
  struct Part {
    Part(ShmLane& lane, const ShmJob& shm_job, int piece_number)
        : job(shm_job), staged(lane, job), piece(piece_number) {}
    bool advance(const WorkBudget& budget);

    const ShmJob job;
    ShmStaged staged;
    int piece;
    bool begun = false;
  };
  std::unique_ptr<Part> make_part(ShmJob::Kind kind, PartRange range, int root, int piece);

  ShmLane& lane_;
  const HierarchicalJob& job_;
  std::unique_ptr<Part> gather_;  // or null
  bool gathered_ = false;
  std::vector<std::unique_ptr<Part>> spread_;  // in the order in which all ranks of the node do them
  std::size_t spread_done_ = 0;
};

}  // namespace trireme
