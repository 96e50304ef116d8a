// SPDX-License-Identifier: Apache-2.0
// Streams as queues of operations, and the order between them that streams and events give.
//
// Eager (the default): an operation runs when it is given to its stream. Lazy (SIMT_STREAMS=lazy[:seed]):
// operations wait until somebody waits for one (a synchronisation, a blocking copy). Until that one is done,
// streams advance in a seeded random order that only events limit, now and then only those it depends on. So
// a result that is used without waiting for it is not there yet, and a step that lacks an event comes before
// what it should follow.
//
// An operation may need other processes (a collective): it is then asked again and again whether it is done,
// and whoever waits lets the other streams and threads get on meanwhile.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trireme::simt::emulator {

/// A misuse that has an error code of CUDA's own.
class StreamError : public std::runtime_error {
 public:
  StreamError(cudaError_t code, const std::string& cause) : std::runtime_error(cause), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

/// One turn of an operation: whether it is done.
using Attempt = std::function<bool()>;
/// Begins an operation, each time that it is given to a stream: a graph's are, with every launch of it.
using MakeAttempt = std::function<Attempt()>;

struct Operation {
  Attempt attempt;
  /// What must be done before; empty once done.
  std::vector<std::shared_ptr<Operation>> needs;
  bool needs_others = false;  ///< processes: may take several attempts
  bool is_done = false;
  std::chrono::steady_clock::time_point given = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point finished;
};
using OperationPtr = std::shared_ptr<Operation>;

struct KeptOperation {
  MakeAttempt make;
  bool needs_others;
};
using KeptOperations = std::vector<KeptOperation>;

/// What a stream is given between begin and end of a capture.
struct Capture {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  std::uint64_t id;
  std::string fault;  ///< why it is invalid, where it is
  KeptOperations operations;
};

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
  std::unique_ptr<trireme::simt::emulator::Capture> capture;
};

struct CUevent_st {
  bool has_timing = true;
  /// The last recording; null before the first, and where that was captured.
  trireme::simt::emulator::OperationPtr record;
  /// The id of the capture that the last recording belongs to; 0: none.
  std::uint64_t capture = 0;
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

  /// Gives `work` its place on `stream`. Eager: runs it, and throws what it throws. Null where the stream
  /// captures: the work is then kept, and run with each launch of the graph.
  OperationPtr enqueue(cudaStream_t stream, std::function<void()> work);
  /// The same for what other processes take part in.
  OperationPtr enqueue_with_others(cudaStream_t stream, MakeAttempt make);
  /// All of them in order, as one launch.
  void enqueue_kept(cudaStream_t stream, const KeptOperations& operations);
  void record(cudaEvent_t event, cudaStream_t stream);
  void wait_event(cudaStream_t stream, cudaEvent_t event);

  // Capture (stream_capture.cpp). Each throws StreamError.
  void begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
  KeptOperations end_capture(cudaStream_t stream);
  cudaStreamCaptureStatus capture_status(cudaStream_t stream);
  /// Before a call that waits, or that CUDA forbids while something is captured: makes captures of this
  /// thread (of any, in the global mode) invalid.
  void forbid_in_captures(const char* function);
  /// Before what cannot be captured is given to a stream.
  void forbid_if_captured(cudaStream_t stream, const std::string& cause);
  /// Before an event is waited for or asked by the host.
  void forbid_captured_event(const char* function, cudaEvent_t event);

  /// Each throws what failed meanwhile. After a failure all that was queued is dropped.
  void wait(const OperationPtr& operation);
  void wait_stream(cudaStream_t stream);
  void wait_all();
  /// Whether all is done; if not, one waiting operation may run, so that who polls gets on.
  bool poll_stream(cudaStream_t stream);
  bool poll_event(cudaEvent_t event);
  /// Gets on with what other processes may be waiting for, where it was given to a stream so long ago: by a
  /// thread that does this now and then, no process waits for one whose host has nothing to wait for.
  void help_others(std::chrono::milliseconds age);

  /// Waits for all first. For tests.
  void set_mode(StreamMode mode, unsigned seed = 0);

 private:
  using Lock = std::unique_lock<std::mutex>;

  Streams();
  Lock lock();
  CUstream_st* resolve(cudaStream_t stream);
  OperationPtr give(Lock& lock, cudaStream_t stream, const KeptOperation& kept);
  OperationPtr push(CUstream_st* stream, const KeptOperation& kept);
  bool keep(CUstream_st* stream, const KeptOperation& kept);
  void refuse_implicit_order(const CUstream_st* stream);
  bool is_capturing(std::uint64_t id) const;
  /// True where the wait concerns a capture and is settled.
  bool wait_in_capture(CUstream_st* stream, const CUevent_st& event);
  std::vector<CUstream_st*> ready(const std::set<const Operation*>* only) const;
  bool run_front(CUstream_st* stream);
  bool run_one(const std::set<const Operation*>* only);
  void run_until(Lock& lock, const OperationPtr& target, bool waits);
  void run_all(Lock& lock);
  void drop_all();

  std::mutex mutex_;
  StreamMode mode_ = StreamMode::eager;
  std::mt19937_64 random_;
  CUstream_st default_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::set<cudaEvent_t> events_;
  std::uint64_t captures_ = 0;
};

}  // namespace trireme::simt::emulator
