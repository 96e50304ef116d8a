// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <array>
#include <string>

namespace trireme {

/// While it lives, SIGTERM, SIGUSR1 and SIGUSR2 only ask for a stop; the training loop acts between steps.
/// Another of them that comes more than a second later ends the process at once with the signal's default
/// action (within the second it counts as the same request: schedulers signal processes and groups side by
/// side). SIGCONT, which schedulers send before SIGTERM, changes nothing. An object inside the life of
/// another one sees what that has received. For one thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The first signal received; 0: none yet.
  int received() const;
  /// "SIGUSR1"
  static std::string name_of(int signal);

 private:
  static constexpr std::array<int, 3> kSignals{SIGTERM, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace trireme
