// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_graph.h"

#include "src/device/cuda/cuda_check.h"

namespace trireme {
namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(cudaGraphExec_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {}
  ~GraphRecording() override { cudaGraphExecDestroy(graph_); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  void run() override { check_cuda(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t graph_;
  cudaStream_t stream_;
};

std::string reason(const char* call, cudaError_t status) {
  cudaGetLastError();  // not an error of the program: the work runs without a graph
  return fmt::format("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// Ends the capture whatever happens; the graph of what was captured, or null and why.
cudaGraph_t capture(cudaStream_t stream, const std::function<void()>& work, std::string& why) {
  // Other threads (communication, loaders) go on calling CUDA meanwhile.
  if (const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
      status != cudaSuccess) {
    why = reason("cudaStreamBeginCapture", status);
    return nullptr;
  }
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (const Error& error) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    why = error.what();
    return nullptr;
  }
  if (const cudaError_t status = cudaStreamEndCapture(stream, &graph); status != cudaSuccess) {
    why = reason("cudaStreamEndCapture", status);
    return nullptr;
  }
  return graph;
}

}  // namespace

std::unique_ptr<Recording> record_graph(cudaStream_t stream, const std::function<void()>& work,
                                        std::string& why) {
  cudaGraph_t graph = capture(stream, work, why);
  if (graph == nullptr) return nullptr;
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (status != cudaSuccess) {
    why = reason("cudaGraphInstantiate", status);
    return nullptr;
  }
  return std::make_unique<GraphRecording>(executable, stream);
}

}  // namespace trireme
