// SPDX-License-Identifier: Apache-2.0
// Composed of the node's staged collectives: one over the whole tensor before the wire, whose result every
// rank gets; after the wire, each owner broadcasts its slices.
#include "src/comm/hierarchical_staged.h"

#include <utility>

namespace trireme {

HierarchicalStaged::HierarchicalStaged(ShmLane& lane, const HierarchicalJob& job) : lane_(lane), job_(job) {
  if (job.gathers())
    gather_ = make_part(job.sums ? ShmJob::Kind::allreduce : ShmJob::Kind::broadcast, {0, job.tensor.count()},
                        job.sums ? 0 : job.local_root, 0);
  // On the root's node all ranks have the tensor already.
  if (!job.spreads() || job.local_root >= 0) return;
  for (int piece = 0; piece < job.pieces(); ++piece)
    for (int owner = 0; owner < job.wires; ++owner)
      if (const PartRange slice = job.slice(piece, owner); slice.size() > 0)
        spread_.push_back(make_part(ShmJob::Kind::broadcast, slice, owner, piece));
}

std::unique_ptr<HierarchicalStaged::Part> HierarchicalStaged::make_part(ShmJob::Kind kind, PartRange range,
                                                                        int root, int piece) {
  const Tensor tensor{element_at(job_.tensor.data, job_.tensor.dtype, range.begin), Shape{range.size()},
                      job_.tensor.dtype};
  return std::make_unique<Part>(lane_, ShmJob{kind, tensor, tensor, root, job_.local, job_.local_size},
                                piece);
}

bool HierarchicalStaged::Part::advance(const WorkBudget& budget) {
  if (!begun) staged.begin();
  begun = true;
  return staged.advance(budget);
}

bool HierarchicalStaged::gather(NodeWires& wires, const WorkBudget& budget) {
  if (gather_ && !gather_->advance(budget)) return false;
  gathered_ = true;
  for (int piece = 0; piece < job_.pieces(); ++piece) wires.start(piece);
  return true;
}

bool HierarchicalStaged::spread(const NodeWires& wires, const WorkBudget& budget) {
  while (spread_done_ < spread_.size()) {
    Part& part = *spread_[spread_done_];
    if (part.job.root == job_.local && !wires.done(part.piece)) return false;
    if (!part.advance(budget)) return false;
    ++spread_done_;
  }
  for (int piece = 0; piece < job_.pieces(); ++piece)
    if (!wires.done(piece)) return false;
  return true;
}

std::string HierarchicalStaged::awaited() const {
  if (!gathered_) return gather_->begun ? gather_->staged.awaited() : std::string{};
  if (spread_done_ == spread_.size() || !spread_[spread_done_]->begun) return {};
  return spread_[spread_done_]->staged.awaited();
}

}  // namespace trireme
