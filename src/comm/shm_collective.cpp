// SPDX-License-Identifier: Apache-2.0
// The life of a collective on one rank. Many may be begun; each rank does its part of them one after the
// other, in their order, so that what it still owes the others is one number.
//
//      begin  ->  all have arrived  ->  its turn: do the part  ->  finished = n + 1  ->  all have finished
//
// The last wait is needed where others read or write this rank's tensor itself, on the direct route.
#include "src/comm/shm_collective.h"

#include <utility>

namespace trireme {

ShmCollective::ShmCollective(ShmLane& lane, const ShmJob& job, std::string description)
    : lane_(lane),
      job_(job),
      meeting_(lane, job_, ShmAccess::as_job, std::move(description)),
      direct_(job_),
      staged_(lane, job_) {}

void ShmCollective::start() {
  meeting_.begin();
}

void ShmCollective::begin_route() {
  route_ = meeting_.meet();
  switch (route_) {
    case ShmRoute::unknown:
      return;
    case ShmRoute::payload:
      for (int r = 0; r < job_.size; ++r) direct_.set_source(r, lane_.payload(r, meeting_.number()));
      return direct_.begin_own();
    case ShmRoute::direct:
      for (int r = 0; r < job_.size; ++r) direct_.set_source(r, meeting_.tensor_of(r));
      return job_.kind == ShmJob::Kind::allreduce ? direct_.begin_slice() : direct_.begin_own();
    case ShmRoute::staged:
      return staged_.begin();
  }
}

/// True when it is done.
bool ShmCollective::work() {
  if (lane_.entered != meeting_.number()) {
    meeting_.meet();
    return false;
  }
  if (route_ == ShmRoute::unknown) begin_route();
  if (route_ == ShmRoute::unknown) return false;
  const WorkBudget budget;
  if (!(route_ == ShmRoute::staged ? staged_.advance(budget) : direct_.advance(budget))) return false;
  ++lane_.entered;
  return true;
}

bool ShmCollective::step() {
  if (!worked_) worked_ = work();
  if (worked_ && !finished_) finished_ = lane_.finish(meeting_.number());
  if (!finished_) return false;
  return route_ != ShmRoute::direct || lane_.all_reach(&ShmBoard::finished, meeting_.number() + 1);
}

std::string ShmCollective::awaited() const {
  if (route_ == ShmRoute::direct) return lane_.behind(&ShmBoard::finished, meeting_.number() + 1);
  if (finished_) return {};
  if (route_ == ShmRoute::staged) return staged_.awaited();
  return meeting_.awaited();
}

}  // namespace trireme
