// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/core/deadline.h"
#include "src/train/signals.h"
#include "src/train/time_limit.h"

namespace trireme {

/// Whether this rank was asked to stop: by a signal, or by the time limit.
class StopRequest {
 public:
  explicit StopRequest(TimeLimit limit) : limit_(std::move(limit)) {}

  bool pending() const { return signals_.received() != 0 || time_is_up(); }
  /// "SIGUSR1", "--max-time"; empty while nothing is pending.
  std::string reason() const {
    if (signals_.received() != 0) return StopSignals::name_of(signals_.received());
    return time_is_up() ? limit_.decided_by : std::string();
  }
  const TimeLimit& limit() const { return limit_; }

 private:
  bool time_is_up() const { return limit_.seconds > 0 && clock_.seconds() >= limit_.seconds; }

  StopSignals signals_;
  TimeLimit limit_;
  Stopwatch clock_;
};

}  // namespace trireme
