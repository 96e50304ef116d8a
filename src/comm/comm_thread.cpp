// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_thread.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "src/comm/comm_guard.h"
#include "src/comm/comm_state.h"
#include "src/comm/signal_free_thread.h"

namespace trireme {
namespace {

constexpr std::chrono::seconds kJoinTimeout{5};  // somewhat more than the thread gives itself
}  // namespace

struct CommThread::Impl {
  Impl(std::shared_ptr<ProgressExchange> progress, WaitLimit limit)
      : state(std::make_shared<CommState>(std::move(progress), std::move(limit))),
        guard(state),
        thread(start_without_signals([shared = state] { run_comm_thread(*shared); })) {}

  std::shared_ptr<CommState> state;
  CommGuard guard;
  std::thread thread;
};

CommThread::CommThread(std::chrono::duration<double> timeout) : CommThread(nullptr, {timeout}) {}

CommThread::CommThread(std::unique_ptr<ProgressExchange> progress, WaitLimit limit)
    : impl_(std::make_unique<Impl>(std::move(progress), std::move(limit))) {}

CommThread::~CommThread() {
  CommState& state = *impl_->state;
  bool ended = false;
  {
    std::unique_lock lock(state.mutex);
    state.stopping = true;
    state.says_farewell = std::uncaught_exceptions() == 0;
    state.attention = true;
    state.work.notify_all();
    Deadline deadline(kJoinTimeout);
    ended =
        wait_until(state.changed, lock, deadline, [&] { return state.ended || state.hangs; }) && state.ended;
  }
  if (ended)
    impl_->thread.join();
  else
    impl_->thread.detach();
}

Ticket CommThread::submit(std::unique_ptr<Collective> collective, std::uint64_t bytes) {
  CommState& state = *impl_->state;
  const std::string text = collective->describe();
  std::list<CommEntry> one(1);
  CommEntry& entry = one.front();
  entry.collective = std::move(collective);
  const std::lock_guard lock(state.mutex);
  if (state.failure) throw Error(*state.failure);
  const std::uint64_t id = ++state.last_id;
  entry.id = id;
  entry.limit = state.limit;
  state.recorder.submitted(id, text, bytes);
  state.queue.splice(state.queue.end(), one);
  state.attention = true;
  state.work.notify_one();
  return Ticket{id};
}

bool CommThread::done(Ticket ticket) const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->failure || impl_->state->find_pending(ticket.id) == nullptr;
}

void CommThread::wait(Ticket ticket) {
  CommState& state = *impl_->state;
  std::unique_lock lock(state.mutex);
  TRIREME_ASSERT(ticket.id <= state.last_id, "a ticket belongs to the thread that gave it");
  const auto ready = [&] { return state.failure || state.find_pending(ticket.id) == nullptr; };
  if (!ready()) {
    const Stopwatch blocked;
    ++state.waiters;
    // The thread keeps the deadline, and where it hangs, the guard does. Blocking at once is quicker than
    // looking for a while: the thread that brings the result may need this core.
    state.changed.wait(lock, ready);
    --state.waiters;
    state.wait_seconds += blocked.seconds();
  }
  if (state.find_pending(ticket.id) != nullptr) throw Error(*state.failure);
}

double CommThread::wait_seconds() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->wait_seconds;
}

WaitLimit CommThread::limit() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->limit;
}

WaitLimit CommThread::set_limit(WaitLimit limit) {
  const std::lock_guard lock(impl_->state->mutex);
  return std::exchange(impl_->state->limit, std::move(limit));
}

Activity& CommThread::activity() {
  return impl_->state->activity;
}

void CommThread::keep_flight(std::function<void(const std::string& json)> keep) {
  const std::lock_guard lock(impl_->state->mutex);
  impl_->state->keep_flight = std::move(keep);
}

void CommThread::give_up(const Error& error) noexcept {
  const std::lock_guard lock(impl_->state->mutex);
  if (!impl_->state->given_up) impl_->state->given_up = error;
}

}  // namespace trireme
