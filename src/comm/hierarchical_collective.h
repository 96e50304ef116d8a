// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/comm/hierarchical_direct.h"
#include "src/comm/hierarchical_plan.h"
#include "src/comm/hierarchical_staged.h"
#include "src/comm/shm_meeting.h"

namespace trireme {

/// An allreduce or a broadcast over several nodes.
class HierarchicalCollective final : public Collective {
 public:
  /// `wires` has one entry per piece of the job. `root` is the root's rank in the group.
  HierarchicalCollective(ShmLane& lane, const HierarchicalJob& job, int root, NodeWires wires,
                         std::string description);

  void start() override { meeting_.begin(); }
  bool step() override;
  std::string describe() const override { return meeting_.description(); }
  std::string awaited() const override;

 private:
  bool enter();
  bool gather(const WorkBudget& budget);
  bool spread(const WorkBudget& budget);

  ShmLane& lane_;
  const HierarchicalJob job_;
  const ShmJob shm_job_;  // as the node's ranks show it to each other
  ShmMeeting meeting_;
  NodeWires wires_;
  HierarchicalDirect direct_;
  HierarchicalStaged staged_;
  ShmRoute route_ = ShmRoute::unknown;
  bool gathered_ = false, spread_ = false, finished_ = false;
};

}  // namespace trireme
