// SPDX-License-Identifier: Apache-2.0
// What CommThread's callers, the thread itself and its guard share. Internal to these three.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "src/comm/comm_thread.h"
#include "src/comm/flight_recorder.h"
#include "src/core/deadline.h"

namespace trireme {

/// A collective that is not complete. `id`, `collective` and `limit` do not change.
struct CommEntry {
  std::uint64_t id = 0;
  std::unique_ptr<Collective> collective;
  WaitLimit limit{std::chrono::seconds(0)};
  // For the thread:
  std::optional<Deadline> deadline;
  bool complete = false;
};

/// Outlives CommThread if the thread hangs inside a collective and has to be left.
struct CommState {
  CommState(std::shared_ptr<ProgressExchange> exchange, WaitLimit wait_limit)
      : progress(std::move(exchange)), limit(std::move(wait_limit)) {}

  const ProgressBoard* board() const { return progress ? &progress->board() : nullptr; }
  int rank() const { return progress ? progress->board().rank() : 0; }
  const CommEntry* find_pending(std::uint64_t id) const;
  /// The first failure counts: it reaches every waiter, and from then on the process is to end. The recorder
  /// is kept before.
  void fail(const Error& error);
  void keep_recorder(const std::string& reason) noexcept;

  const std::shared_ptr<ProgressExchange> progress;  ///< or null
  FlightRecorder recorder;
  Activity activity;

  mutable std::mutex mutex;
  std::condition_variable work;     ///< something was submitted, or stopping
  std::condition_variable changed;  ///< something completed or failed, or the thread has ended
  std::list<CommEntry> queue;       ///< submitted, not yet seen by the thread
  std::list<CommEntry> active;  ///< started; only the thread changes it, so it may walk it without the mutex
  std::optional<Error> failure;
  bool hangs = false;             ///< the failure is that the thread does not come back from a collective
  bool ended = false;             ///< the thread
  std::optional<Error> given_up;  ///< main ends the process with this error
  bool stopping = false;          ///< CommThread is being destroyed
  bool says_farewell = false;     ///< and this end is an orderly one
  WaitLimit limit;
  std::uint64_t last_id = 0;
  double wait_seconds = 0;
  std::function<void(const std::string&)> keep_flight;

  // Looked at without the mutex.
  std::atomic<bool> attention{false};  ///< queue, stopping or failure have changed
  std::atomic<int> waiters{0};         ///< threads blocked in wait()
  std::atomic<int> restarts{0};        ///< of deadlines, after a suspension
};

/// The thread's life.
void run_comm_thread(CommState& state);

}  // namespace trireme
