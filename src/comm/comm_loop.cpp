// SPDX-License-Identifier: Apache-2.0
// The thread's life: sleep until something is submitted; start it, in order; step all that is in flight until
// it completes; tell the waiters; and several times a second tell the other ranks and hear from them. Lists
// are spliced, so the thread allocates nothing.
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "src/comm/backoff.h"
#include "src/comm/comm_state.h"
#include "src/comm/stall_report.h"

namespace trireme {
namespace {

using Clock = Deadline::Clock;

constexpr std::chrono::milliseconds kExchangeInterval{200};
constexpr std::chrono::seconds kStopTimeout{4};       // for what is in flight, and the other ranks' farewell
constexpr std::chrono::microseconds kIdleRound{100};  // a round that only looks is shorter
constexpr std::chrono::seconds kAlarmTime{1};         // for an alarm to leave, and to be acted upon elsewhere

Error wrapped(const std::exception& cause, const Collective& collective) {
  if (const auto* error = dynamic_cast<const Error*>(&cause)) return Error(*error).at(collective.describe());
  return make_error(Status::internal, "the communication thread failed: {}", cause.what())
      .at(collective.describe());
}

class CommLoop {
 public:
  explicit CommLoop(CommState& state) : state_(state) {}

  void run();

 private:
  bool sleep_until_work();
  void start_new();
  void poll();
  bool step_all(Clock::time_point now);
  void retire_complete();
  void exchange(Clock::time_point now);
  void fail(const Error& error) noexcept;
  void abandon_all() noexcept;
  void say_farewell();
  Error stalled(const CommEntry& entry, Clock::time_point now) const;

  CommState& state_;
  std::optional<Deadline> stop_;  // once CommThread is being destroyed
  bool alarmed_ = false;          // another rank has failed, and says so
  bool is_used_ = false;          // something was submitted: MPI is this thread's
  Clock::time_point next_exchange_, next_record_;
};

void CommLoop::run() {
  try {
    while (sleep_until_work()) {
      start_new();
      poll();
    }
    say_farewell();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(make_error(Status::internal, "the communication thread failed: {}", error.what()));
  }
}

/// False when the thread is to end.
bool CommLoop::sleep_until_work() {
  const auto is_due = [&] {
    return state_.stopping || state_.failure || !state_.queue.empty() || !state_.active.empty();
  };
  std::unique_lock lock(state_.mutex);
  while (!is_due()) {
    if (!is_used_ || !state_.progress) {
      state_.work.wait(lock, is_due);
    } else if (!state_.work.wait_for(lock, kExchangeInterval, is_due)) {
      lock.unlock();
      exchange(Clock::now());
      lock.lock();
    }
  }
  is_used_ = is_used_ || !state_.queue.empty();
  if (state_.failure) return false;
  if (!state_.stopping) return true;
  if (!stop_) stop_.emplace(kStopTimeout);
  return !(state_.queue.empty() && state_.active.empty()) && !stop_->passed();
}

void CommLoop::start_new() {
  std::list<CommEntry>::iterator first;
  {
    const std::lock_guard lock(state_.mutex);
    state_.attention = false;
    first = state_.queue.begin();
    if (first == state_.queue.end()) return;
    state_.active.splice(state_.active.end(), state_.queue);
  }
  for (auto entry = first; entry != state_.active.end(); ++entry) {
    entry->deadline.emplace(entry->limit.timeout);
    state_.recorder.started(entry->id);
    try {
      entry->collective->start();
    } catch (const std::exception& cause) {
      throw wrapped(cause, *entry->collective);
    }
  }
}

/// Returns when nothing is in flight any more, when `attention` is asked for, or when a stop takes too long.
void CommLoop::poll() {
  Backoff backoff;
  while (!state_.active.empty() && !state_.attention) {
    const Clock::time_point now = Clock::now();
    if (stop_ && stop_->passed(now)) return;
    exchange(now);
    const bool some_completed = step_all(now);
    if (some_completed) retire_complete();
    // A round that took long has added or copied something, and there may be more of it.
    const Clock::time_point after = Clock::now();
    if (some_completed || after - now > kIdleRound)
      backoff.restart(after);
    else
      backoff.pause(after, state_.waiters > 0);
  }
}

/// One round; true if something completed.
bool CommLoop::step_all(Clock::time_point now) {
  bool any = false;
  for (CommEntry& entry : state_.active) {
    try {
      entry.complete = entry.collective->step();
    } catch (const std::exception& cause) {
      throw wrapped(cause, *entry.collective);
    }
    any |= entry.complete;
    const int restarts = entry.deadline->restarts();
    if (entry.deadline->passed(now) && !entry.complete) throw stalled(entry, now);
    if (entry.deadline->restarts() != restarts) ++state_.restarts;
  }
  return any;
}

void CommLoop::retire_complete() {
  std::list<CommEntry> retired;  // destroyed without the mutex
  const std::lock_guard lock(state_.mutex);
  for (auto entry = state_.active.begin(); entry != state_.active.end();) {
    const auto next = std::next(entry);
    if (entry->complete) {
      state_.recorder.completed(entry->id);
      retired.splice(retired.end(), state_.active, entry);
    }
    entry = next;
  }
  state_.changed.notify_all();
}

/// Cheap unless it is time.
void CommLoop::exchange(Clock::time_point now) {
  if (!state_.progress || now < next_exchange_) return;
  next_exchange_ = now + kExchangeInterval;
  if (const auto alarm = state_.progress->receive()) {
    alarmed_ = true;
    throw make_error(Status::peer_gone, "rank {} on {} has ended the run: {}", alarm->rank,
                     state_.progress->board().host(alarm->rank), alarm->text)
        .met_elsewhere();
  }
  if (now < next_record_) return;
  next_record_ = now + std::chrono::duration_cast<Clock::duration>(state_.progress->interval());
  state_.progress->send(make_record(state_.recorder, state_.activity));
}

Error CommLoop::stalled(const CommEntry& entry, Clock::time_point now) const {
  std::string text =
      fmt::format("waited {:g} s for {}", entry.limit.timeout.count(), entry.collective->describe());
  const std::string held_up = entry.collective->held_up_by();
  if (!held_up.empty()) text += fmt::format(", {}", held_up);
  const std::string late = state_.board() != nullptr ? late_ranks_text(*state_.board(), entry.id, now) : "";
  // What an algorithm waits for may be a neighbour that waits itself: it is told where nobody knows better.
  if (const std::string awaited = entry.collective->awaited(); !awaited.empty() && late.empty())
    text += fmt::format("; {} did not come", awaited);
  text += late;
  return Error(Status::peer_gone, text)
      .hint(
          fmt::format("another rank is gone, stopped or late; {} allows longer waits", entry.limit.setting));
}

/// The others are told first, so that ranks that wait for nothing, or hang elsewhere, keep their recorder and
/// end, too; then this rank keeps its own, while the alarm leaves and is acted upon.
void CommLoop::fail(const Error& error) noexcept {
  const bool tells = state_.progress && is_used_ && !alarmed_ && state_.progress->board().collects();
  try {
    Deadline deadline(kAlarmTime);
    const std::string text = error.what();
    if (tells) state_.progress->raise_alarm(text.substr(0, text.find('\n')));
    state_.keep_recorder(text);
    while (tells && !deadline.passed()) {
      state_.progress->receive();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  } catch (const std::exception&) {
    // The connection is what fails: the others have deadlines of their own.
  }
  state_.fail(error);
  abandon_all();
}

/// After the failure is known: what a device waited for ends with rubbish, which nobody may take for a
/// result. Nothing is submitted any more.
void CommLoop::abandon_all() noexcept {
  {
    const std::lock_guard lock(state_.mutex);
    state_.active.splice(state_.active.end(), state_.queue);
  }
  for (const CommEntry& entry : state_.active) entry.collective->abandon();
}

void CommLoop::say_farewell() {
  if (!state_.progress || !is_used_) return;
  {
    const std::lock_guard lock(state_.mutex);
    if (!state_.says_farewell || state_.failure) return;
  }
  const ProgressRecord last = make_record(state_.recorder, state_.activity);
  while (!state_.progress->leave(last) && !stop_->passed())
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace

void run_comm_thread(CommState& state) {
  pthread_setname_np(pthread_self(), "trireme-comm");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; sleeps of microseconds are meant
  CommLoop(state).run();
  const std::lock_guard lock(state.mutex);
  state.ended = true;
  state.changed.notify_all();
}

}  // namespace trireme
