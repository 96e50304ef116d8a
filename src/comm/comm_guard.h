// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "src/comm/comm_state.h"
#include "src/core/deadline.h"

namespace trireme {

/// A thread that guards CommThread and main, and never calls MPI:
///
///  - the thread lets a deadline pass and does not say so: it hangs inside a collective. The guard fails the
///    collectives in its place, with the report of who is late;
///  - there is a failure, and the process still lives some seconds later: main is blocked elsewhere, or
///    unwinding hangs. The guard prints the message and ends the process with the failure's status.
class CommGuard {
 public:
  struct Patience {
    /// Beyond a collective's deadline, for the thread to notice.
    std::chrono::duration<double> thread{3};
    /// Beyond a failure of the collectives, for main to end the process. Ranks other than 0, and those that
    /// leave the message to another rank, give it more time: there, main itself waits before it speaks.
    std::chrono::duration<double> main{7}, other_ranks{5};
    /// Beyond an error that main has met by itself: it lets collectives end that still use its memory.
    std::chrono::duration<double> unwinding{16};
  };

  explicit CommGuard(std::shared_ptr<CommState> state) : CommGuard(std::move(state), Patience()) {}
  CommGuard(std::shared_ptr<CommState> state, Patience patience);
  ~CommGuard();
  CommGuard(const CommGuard&) = delete;
  CommGuard& operator=(const CommGuard&) = delete;

 private:
  /// What is waited for at present; another one, or a suspension, begins a new wait.
  struct Pending {
    std::uint64_t id = 0;
    int restarts = 0;
    bool operator==(const Pending&) const = default;
  };

  void watch();
  std::optional<Error> thread_hangs();
  void end_process_if_main_hangs();
  [[noreturn]] void end_process(const Error& error);

  const std::shared_ptr<CommState> state_;
  const Patience patience_;
  Pending pending_;
  std::optional<Deadline> for_thread_, for_main_;
  bool is_failure_ = false;  // what for_main_ counts from

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace trireme
