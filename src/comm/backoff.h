// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "src/core/deadline.h"

namespace trireme {

/// Tells the core that this is a loop that waits.
inline void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How to spend the time between two looks at something that other threads or ranks are to bring. Each pause
/// is longer than the last, because the core may be needed for just that:
///
///     |— look again at once —|— let others have the core —|— sleep ———————
///     0                  kSpin                         kYield
class Backoff {
 public:
  using Clock = Deadline::Clock;

  static constexpr std::chrono::microseconds kSpin{50};
  static constexpr std::chrono::milliseconds kYield{2};

  explicit Backoff(Clock::time_point now = Clock::now()) : since_(now) {}
  /// Something has come.
  void restart(Clock::time_point now) { since_ = now; }

  /// `urgent`: a thread of this rank is blocked until it comes. Otherwise the thread does not hold a core
  /// that the ops may use.
  void pause(Clock::time_point now, bool urgent) const {
    const auto idle = now - since_;
    if (idle < kSpin) {
      relax_core();
    } else if (urgent && idle < kYield) {
      sched_yield();
    } else {
      const bool long_ago = idle > kYield && !urgent;
      std::this_thread::sleep_for(std::chrono::microseconds(long_ago ? 50 : 20));
    }
  }

 private:
  Clock::time_point since_;
};

}  // namespace trireme
