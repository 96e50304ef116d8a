// SPDX-License-Identifier: Apache-2.0
#include "src/train/signals.h"

#include <time.h>

#include <cerrno>

#include "src/core/error.h"

namespace trireme {
namespace {

// A C signal handler gets no argument of ours: what it writes must be reachable from here.
volatile sig_atomic_t first_signal = 0;
volatile sig_atomic_t first_second = 0;
// Only objects outside of all others forget what came before them.
int objects = 0;

sig_atomic_t steady_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<sig_atomic_t>(now.tv_sec & 0x3fffffff);
}

void on_signal(int signal_number) {
  const int saved_errno = errno;
  if (first_signal == 0) {
    first_second = steady_seconds();
    first_signal = signal_number;
  } else if (steady_seconds() - first_second > 1) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal_number, &standard, nullptr);
    raise(signal_number);
  }
  errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals() {
  if (objects == 0) first_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (sigaction(kSignals[i], &action, &before_[i]) != 0)
      throw make_error(Status::internal, "cannot install a handler for {}", name_of(kSignals[i]));
  ++objects;
}

StopSignals::~StopSignals() {
  --objects;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int StopSignals::received() const {
  return first_signal;
}

std::string StopSignals::name_of(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGUSR2:
      return "SIGUSR2";
    default:
      return fmt::format("signal {}", signal);
  }
}

}  // namespace trireme
