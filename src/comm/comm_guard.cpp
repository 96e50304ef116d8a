// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>

#include "src/comm/signal_free_thread.h"
#include "src/comm/stall_report.h"

namespace trireme {

CommGuard::CommGuard(std::shared_ptr<CommState> state, Patience patience)
    : state_(std::move(state)), patience_(patience), thread_(start_without_signals([this] { watch(); })) {}

CommGuard::~CommGuard() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CommGuard::watch() {
  pthread_setname_np(pthread_self(), "trireme-guard");
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, Deadline::kSlice, [this] { return is_over_; })) {
    lock.unlock();
    if (const auto error = thread_hangs()) state_->fail(*error);
    end_process_if_main_hangs();
    lock.lock();
  }
}

/// The oldest collective that is not complete stands for all: its deadline is the first to pass, save where
/// limits differ, and then it is the first that the thread will meet again.
std::optional<Error> CommGuard::thread_hangs() {
  const std::lock_guard lock(state_->mutex);
  const auto& list = state_->active.empty() ? state_->queue : state_->active;
  if (state_->failure || list.empty()) {
    for_thread_.reset();
    return std::nullopt;
  }
  const CommEntry& oldest = list.front();
  const Pending pending{oldest.id, state_->restarts};
  if (!for_thread_ || pending != pending_) {
    pending_ = pending;
    for_thread_.emplace(oldest.limit.timeout + patience_.thread);
  }
  if (!for_thread_->passed()) return std::nullopt;
  state_->hangs = true;
  std::string text = fmt::format("the communication thread hangs in the MPI library, waiting for {}",
                                 oldest.collective->describe());
  if (state_->board() != nullptr) text += late_ranks_text(*state_->board(), oldest.id);
  return Error(Status::peer_gone, text).hint("the network or another rank is gone");
}

void CommGuard::end_process_if_main_hangs() {
  std::optional<Error> error;
  {
    const std::lock_guard lock(state_->mutex);
    error = state_->failure ? state_->failure : state_->given_up;
    if (!error) return;
    if (!for_main_ || (state_->failure && !is_failure_)) {
      is_failure_ = state_->failure.has_value();
      const bool others = is_failure_ && (state_->rank() != 0 || error->is_met_elsewhere());
      for_main_.emplace((is_failure_ ? patience_.main : patience_.unwinding) +
                        (others ? patience_.other_ranks : std::chrono::duration<double>(0)));
    }
  }
  if (for_main_->passed()) end_process(*error);
}

/// Printing or writing may hang, too: where standard error is a pipe that nobody reads, or the disk is gone.
/// A thread of its own does it, and the process ends with it or without.
void CommGuard::end_process(const Error& error) {
  const int status = static_cast<int>(error.status());
  try {
    start_without_signals([state = state_, status, text = std::string(error.what())] {
      std::string message = fmt::format("trireme: error: {}\n", text);
      if (state->board() != nullptr && state->rank() != 0)
        message =
            fmt::format("[rank {} on {}] {}", state->rank(), state->board()->host(state->rank()), message);
      std::fputs(message.c_str(), stderr);
      std::fflush(stderr);
      state->keep_recorder(text);
      _exit(status);
    }).detach();
    std::this_thread::sleep_for(std::chrono::seconds(3));
  } catch (const std::exception&) {
    // Silence is what is left: no thread, no memory.
  }
  _exit(status);
}

}  // namespace trireme
