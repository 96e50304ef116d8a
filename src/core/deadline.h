// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace trireme {

/// A point in steady time by which a wait must have ended. Every wait of the program takes one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::duration<double> after)
      : start_(Clock::now()), end_(start_ + std::chrono::duration_cast<Clock::duration>(after)) {}

  bool passed() const { return Clock::now() >= end_; }
  Clock::time_point end() const { return end_; }
  double seconds_waited() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  Clock::time_point start_, end_;
};

/// Seconds since construction or the last restart.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Deadline::Clock::now() - start_).count(); }
  void restart() { start_ = Deadline::Clock::now(); }

 private:
  Deadline::Clock::time_point start_ = Deadline::Clock::now();
};

}  // namespace trireme
