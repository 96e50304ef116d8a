// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress_record.h"

#include <utility>

namespace trireme {

ProgressRecord make_record(const FlightRecorder& recorder, const Activity& activity) {
  const ActivityNow now = activity.now();
  return {recorder.marks(), now.step, now.doing, false, now.layer};
}

ProgressBoard::ProgressBoard(int rank, std::vector<std::string> hosts, bool collects, Time now)
    : rank_(rank), hosts_(std::move(hosts)), collects_(collects), entries_(hosts_.size(), {{}, now}) {}

void ProgressBoard::heard(int rank, const ProgressRecord& record, Time now) {
  const std::lock_guard lock(mutex_);
  entries_[static_cast<std::size_t>(rank)] = {record, now};
}

std::vector<PeerNews> ProgressBoard::news(Time now) const {
  std::vector<PeerNews> all;
  if (!collects_) return all;
  const std::lock_guard lock(mutex_);
  for (int rank = 0; rank < size(); ++rank) {
    const Entry& entry = entries_[static_cast<std::size_t>(rank)];
    if (rank == rank_) continue;
    all.push_back({rank, host(rank), entry.record, std::chrono::duration<double>(now - entry.at).count()});
  }
  return all;
}

}  // namespace trireme
