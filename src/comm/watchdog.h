// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace trireme {

/// A deadline for calls that cannot be given one: MPI_Init and MPI_Finalize wait for the other processes for
/// ever. An object that still lives when its time is over ends the process with status 69 and one message.
class Watchdog {
 public:
  struct Wait {
    std::string what;  ///< "MPI to start (MPI_Init)"
    std::string hint;  ///< what the user can do
    int rank = 0;      ///< as the launcher says; ranks other than 0 leave it some seconds to speak first
    std::chrono::duration<double> timeout{0};
  };

  /// Starts a thread that receives no signals.
  explicit Watchdog(Wait wait);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch();
  bool is_over_within(std::chrono::duration<double> time);
  [[noreturn]] void bite() const;

  Wait wait_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace trireme
