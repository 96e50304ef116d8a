// SPDX-License-Identifier: Apache-2.0
// Streams as queues of operations, and the order between them that streams and events give.
//
// Eager (the default): an operation runs when it is given to its stream. Lazy (SIMT_STREAMS=lazy[:seed]):
// operations wait until somebody waits for one (a synchronisation, a blocking copy). Until that one is done,
// streams advance in a seeded random order that only events limit, now and then only those it depends on. So
// a result that is used without waiting for it is not there yet, and a step that lacks an event comes before
// what it should follow.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace trireme::simt::emulator {

struct Operation {
  std::function<void()> work;
  /// What must be done before; empty once done.
  std::vector<std::shared_ptr<Operation>> needs;
  bool is_done = false;
  std::chrono::steady_clock::time_point finished;
};
using OperationPtr = std::shared_ptr<Operation>;

}  // namespace trireme::simt::emulator

struct CUstream_st {
  /// Ordered with the default stream, as streams are unless created with cudaStreamNonBlocking.
  bool is_blocking = true;
  int priority = 0;
  bool is_destroyed = false;
  std::deque<trireme::simt::emulator::OperationPtr> queue;
  trireme::simt::emulator::OperationPtr last;
  /// Events that the next operation waits for.
  std::vector<trireme::simt::emulator::OperationPtr> gates;
};

struct CUevent_st {
  bool has_timing = true;
  /// The last recording; null before the first.
  trireme::simt::emulator::OperationPtr record;
};

namespace trireme::simt::emulator {

enum class StreamMode { eager, lazy };

class Streams {
 public:
  /// For all threads of the process; mode and seed as SIMT_STREAMS says.
  static Streams& instance();

  cudaStream_t create_stream(bool is_blocking, int priority);
  /// What it still holds will run.
  bool destroy_stream(cudaStream_t stream);
  cudaEvent_t create_event(bool has_timing);
  bool destroy_event(cudaEvent_t event);
  bool is_stream(cudaStream_t stream);
  bool is_event(cudaEvent_t event);

  /// Gives `work` its place on `stream`. Eager: runs it, and throws what it throws.
  OperationPtr enqueue(cudaStream_t stream, std::function<void()> work);
  void record(cudaEvent_t event, cudaStream_t stream);
  void wait_event(cudaStream_t stream, cudaEvent_t event);

  /// Each throws what failed meanwhile. After a failure all that was queued is dropped.
  void wait(const OperationPtr& operation);
  void wait_stream(cudaStream_t stream);
  void wait_all();
  /// Whether all is done; if not, one waiting operation may run, so that who polls gets on.
  bool poll_stream(cudaStream_t stream);
  bool poll_event(cudaEvent_t event);

  /// Waits for all first. For tests.
  void set_mode(StreamMode mode, unsigned seed = 0);

 private:
  Streams();
  CUstream_st* resolve(cudaStream_t stream);
  OperationPtr push(CUstream_st* stream, std::function<void()> work);
  std::vector<CUstream_st*> ready(const std::set<const Operation*>* only) const;
  void run_front(CUstream_st* stream);
  void run_until(const OperationPtr& target);
  void run_all();
  bool advance_once();
  void drop_all();

  std::mutex mutex_;
  StreamMode mode_ = StreamMode::eager;
  std::mt19937_64 random_;
  CUstream_st default_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::set<cudaEvent_t> events_;
};

}  // namespace trireme::simt::emulator
