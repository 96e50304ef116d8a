// SPDX-License-Identifier: Apache-2.0
// The thread's life: sleep until something is submitted; start it, in order; step all that is in flight until
// it completes; tell the waiters. Lists are spliced, so the thread allocates nothing. Only the thread changes
// `active`, and only with the mutex held, so it may walk it without.
#include "src/comm/comm_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

using Clock = Deadline::Clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kLongestTimeout{1e8};  // years: what fits the clock's arithmetic
constexpr Seconds kStopTimeout{5};       // the destructor gives what is in flight this long
constexpr Seconds kAnswerTimeout{5};     // beyond a collective's deadline, for the thread to say so

struct Entry {
  std::uint64_t id = 0;
  std::unique_ptr<Collective> collective;
  Clock::time_point deadline = Clock::time_point::max();
  bool complete = false;
};

/// How to spend the time between two rounds of step(). Another rank or the ops of this one may need the core,
/// so the pause grows with the time that nothing has completed; a host that is blocked in wait() gets quicker
/// answers.
class Backoff {
 public:
  void restart(Clock::time_point now) { since_ = now; }
  void pause(Clock::time_point now, bool host_waits) const {
    using std::chrono::microseconds;
    const auto idle = now - since_;
    if (idle < microseconds(50)) return;
    if (host_waits && idle < std::chrono::milliseconds(2)) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(microseconds(host_waits || idle < std::chrono::milliseconds(1) ? 20 : 50));
  }

 private:
  Clock::time_point since_ = Clock::now();
};

Error wrapped(const std::exception& cause, const Collective& collective) {
  if (const auto* error = dynamic_cast<const Error*>(&cause)) return Error(*error).at(collective.describe());
  return make_error(Status::internal, "the communication thread failed: {}", cause.what())
      .at(collective.describe());
}

}  // namespace

struct CommThread::Impl {
  /// Outlives Impl if the thread hangs inside a collective and has to be left.
  struct State {
    explicit State(Seconds limit) : timeout(limit) {}

    const Seconds timeout;
    std::mutex mutex;
    std::condition_variable work;      // something was submitted, or stopping
    std::condition_variable progress;  // something completed or failed, or the thread has ended
    std::list<Entry> queue;            // submitted, not yet seen by the thread
    std::list<Entry> active;           // started
    std::optional<Error> failure;
    std::uint64_t last_id = 0;
    bool ended = false;
    std::optional<Deadline> stop;
    double wait_seconds = 0;
    std::atomic<bool> attention{false};  // queue or stop have changed
    std::atomic<int> waiters{0};

    const Entry* find_pending(std::uint64_t id) const;
    void run();
    void start_new();
    bool step_all(Clock::time_point now);
    void retire_complete();
    void poll_until(Clock::time_point give_up);
  };

  explicit Impl(Seconds timeout) : state(std::make_shared<State>(timeout)) {}

  std::shared_ptr<State> state;
  std::thread thread;
};

const Entry* CommThread::Impl::State::find_pending(std::uint64_t id) const {
  for (const std::list<Entry>* list : {&active, &queue})
    for (const Entry& entry : *list)
      if (entry.id == id) return &entry;
  return nullptr;
}

void CommThread::Impl::State::run() {
  pthread_setname_np(pthread_self(), "trireme-comm");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; sleeps of microseconds are meant
  try {
    for (;;) {
      Clock::time_point give_up = Clock::time_point::max();
      {
        std::unique_lock lock(mutex);
        work.wait(lock, [&] { return stop || !queue.empty() || !active.empty(); });
        if (stop && ((queue.empty() && active.empty()) || stop->passed())) break;
        if (stop) give_up = stop->end();
      }
      start_new();
      poll_until(give_up);
    }
  } catch (const Error& error) {
    const std::lock_guard lock(mutex);
    failure = error;
  }
  const std::lock_guard lock(mutex);
  ended = true;
  progress.notify_all();
}

void CommThread::Impl::State::start_new() {
  std::list<Entry>::iterator first;
  {
    const std::lock_guard lock(mutex);
    attention = false;
    first = queue.begin();
    if (first == queue.end()) return;
    active.splice(active.end(), queue);
  }
  for (auto entry = first; entry != active.end(); ++entry) {
    entry->deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
    try {
      entry->collective->start();
    } catch (const std::exception& cause) {
      throw wrapped(cause, *entry->collective);
    }
  }
}

/// One round; true if something completed.
bool CommThread::Impl::State::step_all(Clock::time_point now) {
  bool any = false;
  for (Entry& entry : active) {
    try {
      entry.complete = entry.collective->step();
    } catch (const std::exception& cause) {
      throw wrapped(cause, *entry.collective);
    }
    any |= entry.complete;
    if (!entry.complete && now >= entry.deadline)
      throw make_error(Status::peer_gone, "waited {:g} s for {}", timeout.count(),
                       entry.collective->describe())
          .hint("another rank is gone, stopped or late; --timeout allows longer waits");
  }
  return any;
}

void CommThread::Impl::State::retire_complete() {
  std::list<Entry> retired;  // destroyed without the mutex
  const std::lock_guard lock(mutex);
  for (auto entry = active.begin(); entry != active.end();) {
    const auto next = std::next(entry);
    if (entry->complete) retired.splice(retired.end(), active, entry);
    entry = next;
  }
  progress.notify_all();
}

/// Returns when nothing is in flight any more, when `attention` is asked for, or at the latest at `give_up`.
void CommThread::Impl::State::poll_until(Clock::time_point give_up) {
  Backoff backoff;
  while (!active.empty() && !attention) {
    const Clock::time_point now = Clock::now();
    if (now >= give_up) return;
    if (step_all(now)) {
      retire_complete();
      backoff.restart(now);
    } else {
      backoff.pause(now, waiters > 0);
    }
  }
}

CommThread::CommThread(std::chrono::duration<double> timeout)
    : impl_(std::make_unique<Impl>(std::min(timeout, kLongestTimeout))) {
  // Signals are for main.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl_->thread = std::thread([state = impl_->state] { state->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CommThread::~CommThread() {
  auto& state = *impl_->state;
  bool ended = false;
  {
    std::unique_lock lock(state.mutex);
    state.stop.emplace(kStopTimeout);
    state.attention = true;
    state.work.notify_all();
    ended = state.progress.wait_for(lock, 1.1 * kStopTimeout, [&] { return state.ended; });
  }
  if (ended)
    impl_->thread.join();
  else
    impl_->thread.detach();
}

Ticket CommThread::submit(std::unique_ptr<Collective> collective) {
  auto& state = *impl_->state;
  std::list<Entry> one(1);
  one.front().collective = std::move(collective);
  const std::lock_guard lock(state.mutex);
  if (state.failure) throw Error(*state.failure);
  const std::uint64_t id = ++state.last_id;
  one.front().id = id;
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
  auto& state = *impl_->state;
  std::unique_lock lock(state.mutex);
  TRIREME_ASSERT(ticket.id <= state.last_id, "a ticket belongs to the thread that gave it");
  const auto ready = [&] { return state.failure || state.find_pending(ticket.id) == nullptr; };
  if (!ready()) {
    const Stopwatch blocked;
    ++state.waiters;
    state.progress.wait_for(lock, state.timeout + kAnswerTimeout, ready);
    --state.waiters;
    state.wait_seconds += blocked.seconds();
  }
  const Entry* pending = state.find_pending(ticket.id);
  if (pending == nullptr) return;
  if (state.failure) throw Error(*state.failure);
  throw make_error(Status::peer_gone, "the communication thread hangs in the MPI library, waiting for {}",
                   pending->collective->describe())
      .hint("the network or another rank is gone");
}

double CommThread::wait_seconds() const {
  const std::lock_guard lock(impl_->state->mutex);
  return impl_->state->wait_seconds;
}

}  // namespace trireme
