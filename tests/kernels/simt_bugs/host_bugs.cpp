// SPDX-License-Identifier: Apache-2.0
// What the host does wrong: pointers, and waiting.
#include "tests/kernels/simt_bugs/bugs.h"

namespace trireme::bugs {
namespace {

using namespace simt;
using test::check_cuda;
using test::DeviceArray;

constexpr int kThreads = 32;
constexpr std::size_t kBytes = kThreads * sizeof(float);

__global__ void add_kernel(float* values, float number) {
  store(values + threadIdx.x, load(values + threadIdx.x) + number);
}
__global__ void multiply_kernel(float* values, float number) {
  store(values + threadIdx.x, load(values + threadIdx.x) * number);
}

std::string host_pointer(bool is_seeded) {
  std::vector<float> host(kThreads, 1.0F);
  DeviceArray<float> device(host);
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, nullptr, is_seeded ? host.data() : device.data(), 1.0F);
  return difference(is_seeded ? host : device.to_host(), std::vector<float>(kThreads, 2.0F));
}

std::string freed_pointer(bool is_seeded) {
  DeviceArray<float> kept(std::vector<float>(kThreads, 1.0F));
  float* freed = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&freed), kBytes), "cudaMalloc");
  check_cuda(cudaFree(freed), "cudaFree");
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, nullptr, is_seeded ? freed : kept.data(), 1.0F);
  return is_seeded ? "" : difference(kept.to_host(), std::vector<float>(kThreads, 2.0F));
}

struct Streams {
  Streams() {
    check_cuda(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "stream");
    check_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&pinned), kBytes), "pinned");
    std::fill(pinned, pinned + kThreads, 0.0F);
  }
  ~Streams() {
    cudaFreeHost(pinned);
    cudaEventDestroy(event);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  float* pinned = nullptr;
};

std::string result_read_without_waiting(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> values(std::vector<float>(kThreads, 1.0F));
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, streams.first, values.data(), 1.0F);
  check_cuda(cudaMemcpyAsync(streams.pinned, values.data(), kBytes, cudaMemcpyDeviceToHost, streams.first),
             "copy");
  if (!is_seeded) check_cuda(cudaStreamSynchronize(streams.first), "synchronize");
  return difference(std::vector<float>(streams.pinned, streams.pinned + kThreads),
                    std::vector<float>(kThreads, 2.0F));
}

std::string input_overwritten_before_its_copy(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> values(kThreads);
  std::fill(streams.pinned, streams.pinned + kThreads, 1.0F);
  check_cuda(cudaMemcpyAsync(values.data(), streams.pinned, kBytes, cudaMemcpyHostToDevice, streams.first),
             "copy");
  check_cuda(cudaEventRecord(streams.event, streams.first), "record");
  if (!is_seeded) check_cuda(cudaEventSynchronize(streams.event), "synchronize");
  std::fill(streams.pinned, streams.pinned + kThreads, 9.0F);
  return difference(values.to_host(), std::vector<float>(kThreads, 1.0F));
}

std::string missing_event_between_streams(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> values(std::vector<float>(kThreads, 1.0F));
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, streams.first, values.data(), 2.0F);
  check_cuda(cudaEventRecord(streams.event, streams.first), "record");
  if (!is_seeded) check_cuda(cudaStreamWaitEvent(streams.second, streams.event, 0), "wait");
  SIMT_LAUNCH(multiply_kernel, 1, kThreads, 0, streams.second, values.data(), 10.0F);
  return difference(values.to_host(), std::vector<float>(kThreads, 30.0F));
}

__global__ void accumulate_kernel(float* sum, const float* values) {
  store(sum + threadIdx.x, load(sum + threadIdx.x) + load(values + threadIdx.x));
}

/// Two batches through one slot of device memory: the second may come only when the first has been read.
std::string slot_refilled_before_it_was_read(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> slot(std::vector<float>(kThreads, 1.0F)), sum(std::vector<float>(kThreads, 0.0F));
  std::fill(streams.pinned, streams.pinned + kThreads, 5.0F);
  SIMT_LAUNCH(accumulate_kernel, 1, kThreads, 0, streams.first, sum.data(), slot.data());
  check_cuda(cudaEventRecord(streams.event, streams.first), "record");
  if (!is_seeded) check_cuda(cudaStreamWaitEvent(streams.second, streams.event, 0), "wait");
  check_cuda(cudaMemcpyAsync(slot.data(), streams.pinned, kBytes, cudaMemcpyHostToDevice, streams.second),
             "copy");
  check_cuda(cudaStreamSynchronize(streams.second), "synchronize");
  return difference(sum.to_host(), std::vector<float>(kThreads, 1.0F));
}

/// The wait comes before the recording that it is meant for.
std::string wait_before_the_recording(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> values(std::vector<float>(kThreads, 1.0F));
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, streams.first, values.data(), 2.0F);
  if (!is_seeded) check_cuda(cudaEventRecord(streams.event, streams.first), "record");
  check_cuda(cudaStreamWaitEvent(streams.second, streams.event, 0), "wait");
  if (is_seeded) check_cuda(cudaEventRecord(streams.event, streams.first), "record");
  SIMT_LAUNCH(multiply_kernel, 1, kThreads, 0, streams.second, values.data(), 10.0F);
  check_cuda(cudaStreamSynchronize(streams.second), "synchronize");
  return difference(values.to_host(), std::vector<float>(kThreads, 30.0F));
}

/// A recorded pass keeps its pointers: what it uses must not be freed before it.
std::string graph_of_freed_memory(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> kept(std::vector<float>(kThreads, 1.0F));
  float* freed = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&freed), kBytes), "cudaMalloc");
  check_cuda(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeThreadLocal), "begin");
  SIMT_LAUNCH(add_kernel, 1, kThreads, 0, streams.first, is_seeded ? freed : kept.data(), 1.0F);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaStreamEndCapture(streams.first, &graph), "end");
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  check_cuda(cudaGraphDestroy(graph), "destroy");
  check_cuda(cudaFree(freed), "cudaFree");
  check_cuda(cudaGraphLaunch(executable, streams.first), "launch");
  check_cuda(cudaStreamSynchronize(streams.first), "synchronize");
  check_cuda(cudaGraphExecDestroy(executable), "destroy");
  return is_seeded ? "" : difference(kept.to_host(), std::vector<float>(kThreads, 2.0F));
}

/// A number that changes from step to step goes into a recorded pass as an argument, which is frozen.
std::string graph_with_a_frozen_number(bool is_seeded) {
  const Streams streams;
  DeviceArray<float> values(std::vector<float>(kThreads, 1.0F)), number(kThreads);
  constexpr float kFirstRate = 1;
  check_cuda(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeThreadLocal), "begin");
  if (is_seeded) {
    SIMT_LAUNCH(add_kernel, 1, kThreads, 0, streams.first, values.data(), kFirstRate);
  } else {
    SIMT_LAUNCH(accumulate_kernel, 1, kThreads, 0, streams.first, values.data(), number.data());
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaStreamEndCapture(streams.first, &graph), "end");
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  check_cuda(cudaGraphDestroy(graph), "destroy");
  for (const float rate : {kFirstRate, 2.0F, 3.0F}) {
    std::fill(streams.pinned, streams.pinned + kThreads, rate);
    check_cuda(cudaMemcpyAsync(number.data(), streams.pinned, kBytes, cudaMemcpyHostToDevice, streams.first),
               "copy");
    check_cuda(cudaGraphLaunch(executable, streams.first), "launch");
    check_cuda(cudaStreamSynchronize(streams.first), "synchronize");
  }
  check_cuda(cudaGraphExecDestroy(executable), "destroy");
  return difference(values.to_host(), std::vector<float>(kThreads, 7.0F));
}

}  // namespace

std::vector<Bug> host_bugs() {
  return {{"host_pointer", host_pointer},
          {"freed_pointer", freed_pointer},
          {"result_read_without_waiting", result_read_without_waiting},
          {"input_overwritten_before_its_copy", input_overwritten_before_its_copy},
          {"missing_event_between_streams", missing_event_between_streams},
          {"slot_refilled_before_it_was_read", slot_refilled_before_it_was_read},
          {"wait_before_the_recording", wait_before_the_recording},
          {"graph_of_freed_memory", graph_of_freed_memory},
          {"graph_with_a_frozen_number", graph_with_a_frozen_number}};
}

}  // namespace trireme::bugs
