// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "src/core/error.h"

namespace trireme {
namespace {

// Launchers end the whole job when rank 0 ends: then only rank 0 has spoken.
constexpr std::chrono::seconds kRankZeroFirst{5};

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

}  // namespace

Watchdog::Watchdog(Wait wait) : wait_(std::move(wait)) {
  // Signals are for the threads of the program: handlers that MPI installs must not run here.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool Watchdog::is_over_within(std::chrono::duration<double> time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return is_over_; });
}

void Watchdog::watch() {
  if (is_over_within(wait_.timeout)) return;
  if (wait_.rank != 0 && is_over_within(kRankZeroFirst)) return;
  bite();
}

void Watchdog::bite() const {
  const std::string text =
      fmt::format("trireme: error: waited {:g} s for {} on rank {} of {}\n  hint: {}\n",
                  wait_.timeout.count(), wait_.what, wait_.rank, host_name(), wait_.hint);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  _exit(static_cast<int>(Status::peer_gone));
}

}  // namespace trireme
