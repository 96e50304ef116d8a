// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

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
};

/// Names a submitted collective. 0 is always complete.
struct Ticket {
  std::uint64_t id = 0;
};

/// The one thread that calls MPI while training runs. Collectives start in the order of submission and
/// progress side by side. Each has a deadline; when one passes, or a collective throws, every waiter gets the
/// Error (69). Sleeps when nothing is in flight. While main waits in wait(), it yields the core.
class CommThread {
 public:
  explicit CommThread(std::chrono::duration<double> timeout);
  /// Joins after what is in flight has ended, at most 5 s.
  ~CommThread();
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  Ticket submit(std::unique_ptr<Collective> collective);
  /// Whether wait() would return, or throw, at once.
  bool done(Ticket ticket) const;
  /// Returns when the collective is complete; throws its error or the deadline's.
  void wait(Ticket ticket);
  /// Seconds that wait() has blocked in all.
  double wait_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trireme
