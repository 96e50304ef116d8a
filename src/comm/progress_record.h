// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other about how far they are, and what one of them knows of all others.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "src/comm/activity.h"
#include "src/comm/fixed_text.h"
#include "src/comm/flight_recorder.h"
#include "src/core/deadline.h"

namespace trireme {

/// How far a rank is. Sent as bytes, between equal programs.
struct ProgressRecord {
  FlightMarks marks;
  std::int64_t step = 0;
  Doing doing = Doing::starting;
  bool leaves = false;  ///< the rank's last record: it ends
  FixedText<96> layer;  ///< whose gradient was announced last
};
static_assert(std::is_trivially_copyable_v<ProgressRecord>);

ProgressRecord make_record(const FlightRecorder& recorder, const Activity& activity);

/// The news of one rank.
struct PeerNews {
  int rank = 0;
  std::string host;
  std::optional<ProgressRecord> last;  ///< nothing has come yet, if it is not there
  double age_seconds = 0;              ///< of `last`, else of the board
};

/// The last record of every rank, as far as it comes here. Any thread may ask.
class ProgressBoard {
 public:
  using Time = Deadline::Clock::time_point;

  /// `hosts` by rank; `collects`: records of the others come here.
  ProgressBoard(int rank, std::vector<std::string> hosts, bool collects, Time now = Deadline::Clock::now());

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  const std::string& host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  bool collects() const { return collects_; }

  void heard(int rank, const ProgressRecord& record, Time now = Deadline::Clock::now());
  /// Of all other ranks; empty where none comes here.
  std::vector<PeerNews> news(Time now = Deadline::Clock::now()) const;

 private:
  struct Entry {
    std::optional<ProgressRecord> record;
    Time at;
  };

  const int rank_;
  const std::vector<std::string> hosts_;
  const bool collects_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace trireme
