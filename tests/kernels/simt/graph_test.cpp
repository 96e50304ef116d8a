// SPDX-License-Identifier: Apache-2.0
// Capture of a stream, and graphs of what was captured: kept with its arguments, run with every launch,
// looked at again each time.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "kernels/simt/emulator/stream.h"
#include "kernels/simt/simt.h"
#include "tests/kernels/simt/stream_objects.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using emulator::StreamMode;
using test::DeviceArray;

constexpr int kSize = 32;
constexpr std::size_t kBytes = kSize * sizeof(int);

__global__ void graph_add_kernel(int* values, int number) {
  store(values + threadIdx.x, load(values + threadIdx.x) + number);
}

void add(cudaStream_t stream, int* values, int number) {
  SIMT_LAUNCH(graph_add_kernel, 1, kSize, 0, stream, values, number);
}

/// What `work` gives to the stream, ready to be launched.
template <typename Work>
class Graph {
 public:
  Graph(cudaStream_t stream, Work work) {
    test::check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin");
    work();
    cudaGraph_t graph = nullptr;
    test::check_cuda(cudaStreamEndCapture(stream, &graph), "end");
    test::check_cuda(cudaGraphInstantiate(&executable_, graph, 0), "instantiate");
    test::check_cuda(cudaGraphDestroy(graph), "destroy");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  operator cudaGraphExec_t() const { return executable_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Each test in both modes; lazy ones with several seeds.
class Graphs : public testing::TestWithParam<int> {
 private:
  const test::WithStreams with_{GetParam() < 0 ? StreamMode::eager : StreamMode::lazy,
                                static_cast<unsigned>(GetParam() < 0 ? 0 : GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Modes, Graphs, testing::Range(-1, 5));

TEST_P(Graphs, RunWithEachLaunchAndNotBefore) {
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  const test::Stream stream;
  int number = 2;
  const Graph graph(stream, [&] {
    add(stream, values.data(), number);
    number = 100;  // frozen
  });
  EXPECT_EQ(values.to_host()[0], 1);
  for (int launch = 1; launch <= 3; ++launch) {
    EXPECT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
    add(stream, values.data(), 10);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(values.to_host()[0], 1 + 12 * launch);
  }
}

TEST_P(Graphs, KeepCopiesMemsetsHostFunctionsAndTheirOrder) {
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  test::Pinned<int> in(kSize), out(kSize);
  const test::Stream stream, other;
  std::vector<int> seen;
  struct Look {
    std::vector<int>* seen;
    int* from;
  } look{&seen, out.data()};
  const Graph graph(stream, [&] {
    EXPECT_EQ(cudaMemcpyAsync(values.data(), in.data(), kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
    add(stream, values.data(), 1);
    EXPECT_EQ(cudaMemsetAsync(values.data() + 1, 0, sizeof(int), stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(out.data(), values.data(), kBytes, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream,
                  [](void* data) {
                    const auto* at = static_cast<Look*>(data);
                    at->seen->push_back(at->from[0]);
                  },
                  &look),
              cudaSuccess);
  });
  for (const int value : {5, 7}) {
    in.fill(value);
    EXPECT_EQ(cudaGraphLaunch(graph, other), cudaSuccess);  // any stream
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(out[0], value + 1);
    EXPECT_EQ(out[1], 0);
  }
  EXPECT_EQ(seen, (std::vector<int>{6, 8}));
}

TEST_P(Graphs, LookAtTheirMemoryAgain) {
  const test::Stream stream;
  auto values = std::make_unique<DeviceArray<int>>(std::vector<int>(kSize, 1));
  const Graph kernel(stream, [&] { add(stream, values->data(), 2); });
  const Graph memset(stream, [&] { cudaMemsetAsync(values->data(), 0, kBytes, stream); });
  values.reset();
  for (const cudaGraphExec_t graph : {cudaGraphExec_t(kernel), cudaGraphExec_t(memset)}) {
    cudaError_t status = cudaGraphLaunch(graph, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    EXPECT_EQ(status, cudaErrorLaunchFailure);
    const std::string message = cudaGetErrorString(cudaErrorLaunchFailure);
    EXPECT_NE(message.find("freed device memory"), std::string::npos) << message;
  }
}

/// What `work` returns while a stream captures, and what the end of the capture is then.
template <typename Work>
void expect_refused(cudaError_t expected, Work work,
                    cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal,
                    unsigned flags = cudaStreamNonBlocking) {
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  const test::Stream stream(flags);
  ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
  EXPECT_EQ(work(cudaStream_t(stream), values.data()), expected) << cudaGetErrorName(expected);
  EXPECT_NE(std::string(cudaGetErrorName(expected)).find("cudaError"), std::string::npos);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_THROW(add(stream, values.data(), 1), LaunchError);
  auto* graph = reinterpret_cast<cudaGraph_t>(1);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  cudaGetLastError();
  add(stream, values.data(), 1);
  EXPECT_EQ(values.to_host()[0], 2);
}

TEST_P(Graphs, RefuseWaitingWhileCaptured) {
  constexpr cudaError_t kUnsupported = cudaErrorStreamCaptureUnsupported;
  expect_refused(kUnsupported, [](cudaStream_t stream, int*) { return cudaStreamSynchronize(stream); });
  expect_refused(kUnsupported, [](cudaStream_t, int*) { return cudaDeviceSynchronize(); });
  expect_refused(kUnsupported, [](cudaStream_t, int*) {
    const test::Stream other;
    return cudaStreamSynchronize(other);
  });
  expect_refused(kUnsupported, [](cudaStream_t, int* values) {
    int first = 0;
    return cudaMemcpy(&first, values, sizeof first, cudaMemcpyDeviceToHost);
  });
  expect_refused(cudaErrorCapturedEvent, [](cudaStream_t stream, int*) {
    const test::Event event;
    cudaEventRecord(event, stream);
    return cudaEventSynchronize(event);
  });
}

TEST_P(Graphs, RefuseAllocationWhileCaptured) {
  void* memory = nullptr;
  expect_refused(cudaErrorStreamCaptureUnsupported,
                 [&](cudaStream_t, int*) { return cudaMalloc(&memory, 16); });
  EXPECT_EQ(memory, nullptr);
  int* freed = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&freed), kBytes), cudaSuccess);
  expect_refused(cudaErrorStreamCaptureUnsupported, [&](cudaStream_t, int*) { return cudaFree(freed); });
  EXPECT_EQ(cudaFree(freed), cudaSuccess);
}

TEST_P(Graphs, RefusePageableMemory) {
  std::vector<int> pageable(kSize);
  expect_refused(cudaErrorStreamCaptureUnsupported, [&](cudaStream_t stream, int* values) {
    return cudaMemcpyAsync(values, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream);
  });
}

TEST_P(Graphs, RefuseOtherStreams) {
  expect_refused(cudaErrorStreamCaptureIsolation, [](cudaStream_t stream, int*) {
    const test::Stream other;
    const test::Event event;
    cudaEventRecord(event, other);
    return cudaStreamWaitEvent(stream, event, 0);
  });
  expect_refused(
      cudaErrorStreamCaptureImplicit,
      [](cudaStream_t, int* values) { return cudaMemsetAsync(values, 0, kBytes, nullptr); },
      cudaStreamCaptureModeThreadLocal, cudaStreamDefault);
}

TEST_P(Graphs, ASecondStreamDoesNotJoin) {
  const test::Stream stream, other;
  const test::Event event;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  cudaGetLastError();
}

TEST_P(Graphs, ModesSayWhoMayDisturb) {
  const auto allocate = [](cudaStream_t, int*) {
    cudaError_t status = cudaSuccess;
    std::thread([&] {
      void* memory = nullptr;
      status = cudaMalloc(&memory, 16);
      cudaFree(memory);
    }).join();
    return status;
  };
  expect_refused(cudaErrorStreamCaptureUnsupported, allocate, cudaStreamCaptureModeGlobal);
  const test::Stream stream;
  cudaGraph_t graph = nullptr;
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    EXPECT_EQ(allocate(nullptr, nullptr), cudaSuccess);
    cudaError_t ended = cudaSuccess;
    std::thread([&] { ended = cudaStreamEndCapture(stream, &graph); }).join();
    if (mode == cudaStreamCaptureModeThreadLocal) {
      EXPECT_EQ(ended, cudaErrorStreamCaptureWrongThread);
      ended = cudaStreamEndCapture(stream, &graph);
    }
    EXPECT_EQ(ended, cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  cudaGetLastError();
}

TEST_P(Graphs, HandlesAreChecked) {
  const test::Stream stream;
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);
  EXPECT_EQ(executable, nullptr);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaErrorInvalidValue);
  cudaGetLastError();
}

}  // namespace
}  // namespace trireme::simt
