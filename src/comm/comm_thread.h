// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/comm/activity.h"
#include "src/comm/progress_exchange.h"
#include "src/core/error.h"

namespace trireme {

/// One collective operation as a state machine that CommThread drives: start() once, then step() until it
/// returns true. Neither may block. Memory is allocated when the object is made, on the caller's thread.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual void start() = 0;
  virtual bool step() = 0;
  /// For messages: "allreduce of bucket 3 (layer2.0.conv1.weight …), 4.0 MiB". Any thread may ask at any
  /// time.
  virtual std::string describe() const = 0;
  /// Who has not come yet, as far as the algorithm knows: "ranks 2, 3", or nothing. For the thread that
  /// steps.
  virtual std::string awaited() const { return {}; }
  /// What on this rank keeps it from going on: "waiting for the device to make its tensor", or nothing. For
  /// the thread that steps.
  virtual std::string held_up_by() const { return {}; }
  /// The communication has failed, and no collective will be stepped again: ends what a device would wait
  /// for. For the thread that steps, once.
  virtual void abandon() noexcept {}
};

/// What held_up_by() says of tensors that are not there yet.
inline constexpr const char* kDeviceIsAwaited = "waiting for the device to make its tensor";

/// Names a submitted collective. 0 is always complete.
struct Ticket {
  std::uint64_t id = 0;
};

/// How long a collective may take, and the setting that says so, for messages.
struct WaitLimit {
  template <typename Count, typename Period>
  WaitLimit(std::chrono::duration<Count, Period> time,  // NOLINT(google-explicit-constructor): a time is one
            std::string name = "--timeout")
      : timeout(time), setting(std::move(name)) {}

  std::chrono::duration<double> timeout;
  std::string setting;
};

/// The one thread that calls MPI while training runs. Collectives start in the order of submission and
/// progress side by side. Each has a deadline; when one passes, or a collective throws, every waiter gets the
/// Error (69), which names who is late where a ProgressExchange tells. While main waits in wait(), it yields
/// the core; it sleeps when nothing is in flight.
///
/// A second thread, which never calls MPI, guards the first one and main: where either does not end the
/// process after a deadline, because it hangs, the guard does, with status 69 and the same message.
class CommThread {
 public:
  /// For ranks that tell each other nothing beside the collectives.
  explicit CommThread(std::chrono::duration<double> timeout);
  /// `progress` may be null. It is used from the first submit() on: then no other thread may call MPI any
  /// more.
  CommThread(std::unique_ptr<ProgressExchange> progress, WaitLimit limit);
  /// Joins after what is in flight has ended and all ranks have said that they leave, at most 4 s. While an
  /// error unwinds the caller, the others are not waited for.
  ~CommThread();
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  /// `bytes` is for the flight recorder.
  Ticket submit(std::unique_ptr<Collective> collective, std::uint64_t bytes = 0);
  /// Whether wait() would return, or throw, at once.
  bool done(Ticket ticket) const;
  /// Returns when the collective is complete; throws its error or the deadline's.
  void wait(Ticket ticket);
  /// Seconds that wait() has blocked in all.
  double wait_seconds() const;

  /// Of collectives that are submitted now.
  WaitLimit limit() const;
  /// Of collectives that are submitted from now on. Returns the one before.
  WaitLimit set_limit(WaitLimit limit);
  /// What main tells others about itself. Any thread may use it.
  Activity& activity();
  /// Called once, on the thread that finds a failure, with the flight recorder as JSON. What it throws is
  /// logged.
  void keep_flight(std::function<void(const std::string& json)> keep);
  /// The caller has met an error and ends the process: if it has not within seconds, the guard does, with
  /// this message.
  void give_up(const Error& error) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Collectives that are submitted while it lives have another limit.
class WaitLimitScope {
 public:
  WaitLimitScope(CommThread& thread, WaitLimit limit)
      : thread_(thread), before_(thread.set_limit(std::move(limit))) {}
  ~WaitLimitScope() { thread_.set_limit(std::move(before_)); }
  WaitLimitScope(const WaitLimitScope&) = delete;
  WaitLimitScope& operator=(const WaitLimitScope&) = delete;

 private:
  CommThread& thread_;
  WaitLimit before_;
};

}  // namespace trireme
