// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/core/deadline.h"
#include "src/train/interval.h"

namespace trireme {

/// When something periodic is due. Steps and epochs are counted from the run's beginning, so a resumed run
/// keeps the rhythm; minutes are counted on one rank's clock, which the ranks then agree on.
class Cadence {
 public:
  Cadence(const Interval& interval, std::int64_t steps_per_epoch);

  /// Whether it is due after `step` finished steps; false for minutes.
  bool due_at(std::int64_t step) const { return every_ > 0 && step > 0 && step % every_ == 0; }
  /// Whether the minutes have passed since the last restart; false for other units.
  bool due_by_clock() const { return seconds_ > 0 && clock_.seconds() >= seconds_; }
  void restart_clock() { clock_.restart(); }

 private:
  std::int64_t every_ = 0;
  double seconds_ = 0;
  Stopwatch clock_;
};

}  // namespace trireme
