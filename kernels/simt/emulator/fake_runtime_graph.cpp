// SPDX-License-Identifier: Apache-2.0
// Graphs are what a capture kept. A launch gives it to a stream in order, where all pointers are looked at
// again.
#include <memory>
#include <mutex>
#include <set>

#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/stream.h"

struct CUgraph_st {
  trireme::simt::emulator::KeptOperations operations;
};
struct CUgraphExec_st {
  trireme::simt::emulator::KeptOperations operations;
};

namespace trireme::simt::emulator {
namespace {

/// Handles that live.
template <typename Handle>
class Handles {
 public:
  Handle add(Handle handle) {
    const std::lock_guard lock(mutex_);
    alive_.insert(handle);
    return handle;
  }
  bool has(Handle handle) {
    const std::lock_guard lock(mutex_);
    return alive_.count(handle) != 0;
  }
  bool destroy(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (alive_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }

 private:
  std::mutex mutex_;
  std::set<Handle> alive_;
};

template <typename Handle>
Handles<Handle>& handles() {
  static auto& alive = *new Handles<Handle>;
  return alive;
}

cudaError_t bad_handle(const char* function, const char* what) {
  return report(cudaErrorInvalidValue,
                std::string(function) + ": the " + what + " does not exist or was destroyed");
}

template <typename Work>
cudaError_t with_stream(const char* function, cudaStream_t stream, Work work) {
  return guarded(function, [&]() -> cudaError_t {
    if (Streams::instance().is_stream(stream)) return work();
    return report(cudaErrorInvalidResourceHandle,
                  std::string(function) + ": the stream does not exist or was destroyed");
  });
}

}  // namespace
}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return with_stream("cudaStreamBeginCapture", stream, [&] {
    Streams::instance().begin_capture(stream, mode);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return report(cudaErrorInvalidValue, "cudaStreamEndCapture: null");
  *graph = nullptr;
  return with_stream("cudaStreamEndCapture", stream, [&] {
    *graph = handles<cudaGraph_t>().add(new CUgraph_st{Streams::instance().end_capture(stream)});
    return cudaSuccess;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return report(cudaErrorInvalidValue, "cudaStreamIsCapturing: null");
  return with_stream("cudaStreamIsCapturing", stream, [&] {
    *status = Streams::instance().capture_status(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  if (executable == nullptr || flags != 0)
    return report(cudaErrorInvalidValue, "cudaGraphInstantiate: null, or flags that are not emulated");
  *executable = nullptr;
  if (!handles<cudaGraph_t>().has(graph)) return bad_handle("cudaGraphInstantiate", "graph");
  *executable = handles<cudaGraphExec_t>().add(new CUgraphExec_st{graph->operations});
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return with_stream("cudaGraphUpload", stream, [&] {
    return handles<cudaGraphExec_t>().has(executable) ? cudaSuccess : bad_handle("cudaGraphUpload", "graph");
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return with_stream("cudaGraphLaunch", stream, [&]() -> cudaError_t {
    if (!handles<cudaGraphExec_t>().has(executable)) return bad_handle("cudaGraphLaunch", "graph");
    Streams::instance().enqueue_kept(stream, executable->operations);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return handles<cudaGraph_t>().destroy(graph) ? cudaSuccess : bad_handle("cudaGraphDestroy", "graph");
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return handles<cudaGraphExec_t>().destroy(executable) ? cudaSuccess
                                                        : bad_handle("cudaGraphExecDestroy", "graph");
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return report(cudaErrorInvalidValue, "cudaLaunchHostFunc: null");
  return with_stream("cudaLaunchHostFunc", stream, [&] {
    Streams::instance().enqueue(stream, [function, data] { function(data); });
    return cudaSuccess;
  });
}

}  // extern "C"
