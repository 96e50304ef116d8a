// SPDX-License-Identifier: Apache-2.0
// An allreduce over nodes. Inside a node the ranks see each other's memory; between nodes everything goes
// over wires, one per place: the first ranks of all nodes form wire 0, the second ones wire 1, and so on, as
// many as the smallest node has ranks. The tensor is cut into as many slices, and all of them are on the wire
// at the same time:
//
//            node A                                        node B
//            rank 0: | slice 0 | slice 1 |                 rank 2: | slice 0 | slice 1 |
//            rank 1: | slice 0 | slice 1 |                 rank 3: | slice 0 | slice 1 |
//
//   gather   rank 0 sums slice 0 of ranks 0, 1             rank 2 sums slice 0 of ranks 2, 3
//            rank 1 sums slice 1 of ranks 0, 1             rank 3 sums slice 1 of ranks 2, 3
//   wire 0   rank 0 <---------- allreduce of slice 0 ----------> rank 2
//   wire 1   rank 1 <---------- allreduce of slice 1 ----------> rank 3
//   spread   rank 0 writes slice 0 to rank 1               rank 2 writes slice 0 to rank 3
//            rank 1 writes slice 1 to rank 0               rank 3 writes slice 1 to rank 2
//
// Each node sends and receives what one rank would, however many ranks it has; ranks beyond the wires own no
// slice. Long tensors go in pieces, so that the sums of one piece hide behind the wire of the one before. A
// broadcast is the same with copies from the root in place of sums, on the root's node only.
//
// Sums: the ranks of a node in their order, then the nodes as the wire's algorithm adds them. 16-bit floats
// are summed in fp32 on the node and rounded once to go on the wire, and summed in fp32 across the nodes and
// rounded once to come back.
#include "src/comm/hierarchical_collective.h"

#include <utility>

namespace trireme {
namespace {

ShmJob shown(const HierarchicalJob& job, int root) {
  return {job.sums ? ShmJob::Kind::allreduce : ShmJob::Kind::broadcast,
          job.tensor,
          job.tensor,
          root,
          job.local,
          job.local_size};
}

}  // namespace

HierarchicalCollective::HierarchicalCollective(ShmLane& lane, const HierarchicalJob& job, int root,
                                               NodeWires wires, std::string description)
    : lane_(lane),
      job_(job),
      shm_job_(shown(job, root)),
      meeting_(lane, shm_job_, ShmAccess::whole, std::move(description)),
      wires_(std::move(wires)),
      direct_(job_),
      staged_(lane, job_) {}

/// True once the ranks of the node have met and it is this collective's turn.
bool HierarchicalCollective::enter() {
  if (route_ != ShmRoute::unknown) return true;
  const ShmRoute route = meeting_.meet();
  if (route == ShmRoute::unknown || lane_.entered != meeting_.number()) return false;
  route_ = route;
  for (int r = 0; r < job_.local_size; ++r) direct_.set_tensor(r, meeting_.tensor_of(r));
  return true;
}

bool HierarchicalCollective::gather(const WorkBudget& budget) {
  const bool is_direct = route_ == ShmRoute::direct;
  if (!(is_direct ? direct_.gather(wires_, budget) : staged_.gather(wires_, budget))) return false;
  if (is_direct) ++lane_.entered;  // the next may gather while this one is on the wire
  return true;
}

bool HierarchicalCollective::spread(const WorkBudget& budget) {
  const bool is_direct = route_ == ShmRoute::direct;
  if (!(is_direct ? direct_.spread(wires_, budget) : staged_.spread(wires_, budget))) return false;
  if (!is_direct) ++lane_.entered;  // the stage is in use until here
  return true;
}

bool HierarchicalCollective::step() {
  if (!enter()) return false;
  const WorkBudget budget;
  if (!gathered_) gathered_ = gather(budget);
  wires_.step();
  if (!spread_) spread_ = gathered_ && spread(budget);
  if (spread_ && !finished_) finished_ = lane_.finish(meeting_.number());
  if (!finished_) return false;
  return route_ != ShmRoute::direct || lane_.all_reach(&ShmBoard::finished, meeting_.number() + 1);
}

std::string HierarchicalCollective::awaited() const {
  if (route_ == ShmRoute::unknown) return meeting_.awaited();
  if (std::string late = wires_.awaited(); !late.empty()) return late;
  if (route_ == ShmRoute::staged) return staged_.awaited();
  return lane_.behind(&ShmBoard::finished, meeting_.number() + 1);
}

}  // namespace trireme
