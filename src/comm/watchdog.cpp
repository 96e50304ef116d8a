// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "src/comm/signal_free_thread.h"
#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

// Launchers end the whole job when one rank ends: then only that one has spoken.
std::chrono::seconds time_for_lower_ranks(int rank) {
  return std::chrono::seconds(rank == 1 ? 5 : 8);
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

}  // namespace

Watchdog::Watchdog(Wait wait) : wait_(std::move(wait)), thread_(start_without_signals([this] { watch(); })) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool Watchdog::is_over_within(std::chrono::duration<double> time) {
  Deadline deadline(time);
  std::unique_lock lock(mutex_);
  return wait_until(changed_, lock, deadline, [this] { return is_over_; });
}

void Watchdog::watch() {
  if (is_over_within(wait_.timeout)) return;
  if (wait_.rank != 0 && is_over_within(time_for_lower_ranks(wait_.rank))) return;
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
