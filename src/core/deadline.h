// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace trireme {

/// A point in steady time by which a wait must have ended. Every wait of the program takes one.
///
/// The waiting loop asks passed() in each of its rounds, several times a second: the deadline's ticks. Where
/// a tick comes seconds late, the process was stopped (SIGSTOP, a suspended job, a sleeping machine), and the
/// others of its job with it, most likely: the deadline then begins anew.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// A gap between two ticks that no loop of the program leaves by itself.
  static constexpr std::chrono::seconds kSuspension{2};
  /// The longest that a waiting loop sleeps at a time.
  static constexpr std::chrono::milliseconds kSlice{250};

  explicit Deadline(std::chrono::duration<double> after, Clock::time_point now = Clock::now())
      : length_(std::chrono::duration_cast<Clock::duration>(std::min(after, kLongest))),
        start_(now),
        last_tick_(now),
        end_(now + length_) {}

  /// A tick.
  bool passed(Clock::time_point now = Clock::now()) {
    if (now - last_tick_ > kSuspension) {
      end_ = now + length_;
      ++restarts_;
    }
    last_tick_ = now;
    return now >= end_;
  }

  Clock::time_point end() const { return end_; }
  /// Since construction, suspensions included.
  double seconds_waited(Clock::time_point now = Clock::now()) const {
    return std::chrono::duration<double>(now - start_).count();
  }
  double length_seconds() const { return std::chrono::duration<double>(length_).count(); }
  int restarts() const { return restarts_; }

 private:
  static constexpr std::chrono::duration<double> kLongest{1e8};  // years: what fits the clock's arithmetic

  Clock::duration length_;
  Clock::time_point start_, last_tick_, end_;
  int restarts_ = 0;
};

/// Waits on `changed` until `ready()`, in slices that give the deadline its ticks; false if that passed
/// first.
template <typename Ready>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Deadline& deadline,
                Ready ready) {
  for (;;) {
    const auto slice =
        std::min<Deadline::Clock::time_point>(deadline.end(), Deadline::Clock::now() + Deadline::kSlice);
    if (changed.wait_until(lock, slice, ready)) return true;
    if (deadline.passed()) return false;
  }
}

/// Seconds since construction or the last restart.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Deadline::Clock::now() - start_).count(); }
  void restart() { start_ = Deadline::Clock::now(); }

 private:
  Deadline::Clock::time_point start_ = Deadline::Clock::now();
};

}  // namespace trireme
