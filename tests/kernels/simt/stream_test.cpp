// SPDX-License-Identifier: Apache-2.0
// Streams and events: eager ones run at once, lazy ones only when somebody waits, in any order that events
// allow.
#include <gtest/gtest.h>

#include <atomic>
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
using test::Event;
using test::fault_of;
using test::Pinned;
using test::Stream;
using test::WithStreams;

constexpr int kSize = 32;

__global__ void add_kernel(int* values, int number) {
  store(values + threadIdx.x, load(values + threadIdx.x) + number);
}
__global__ void multiply_kernel(int* values, int number) {
  store(values + threadIdx.x, load(values + threadIdx.x) * number);
}
__global__ void fault_kernel(const int* values) {
  load(values + kSize);
}

constexpr std::size_t kBytes = kSize * sizeof(int);

TEST(EagerStreams, RunAtOnceAndThrowFromTheLaunch) {
  const WithStreams with(StreamMode::eager);
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  Pinned<int> host(kSize);
  const Stream stream;
  SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 2);
  cudaMemcpyAsync(host.data(), values.data(), kBytes, cudaMemcpyDeviceToHost, stream);
  EXPECT_EQ(host[0], 3);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_NE(fault_of([&] { SIMT_LAUNCH(fault_kernel, 1, kSize, 0, stream, values.data()); }), "");
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(LazyStreams, DoNothingBeforeSomebodyWaits) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const WithStreams with(StreamMode::lazy, seed);
    DeviceArray<int> values(std::vector<int>(kSize, 1));
    Pinned<int> host(kSize);
    host.fill(-7);
    const Stream stream;
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 2);
    cudaMemcpyAsync(host.data(), values.data(), kBytes, cudaMemcpyDeviceToHost, stream);
    EXPECT_EQ(host[0], -7);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(host[0], 3);
  }
}

TEST(LazyStreams, CopiesFromPinnedMemoryReadItLate) {
  const WithStreams with(StreamMode::lazy);
  DeviceArray<int> values(kSize);
  Pinned<int> host(kSize);
  std::vector<int> pageable(kSize, 4);
  const Stream stream;
  host.fill(1);
  cudaMemcpyAsync(values.data(), host.data(), kBytes, cudaMemcpyHostToDevice, stream);
  host.fill(2);  // too early
  EXPECT_EQ(values.to_host()[0], 2);
  cudaMemcpyAsync(values.data(), pageable.data(), kBytes, cudaMemcpyHostToDevice, stream);
  pageable.assign(kSize, 5);  // CUDA has staged it
  EXPECT_EQ(values.to_host()[0], 4);
}

/// (1 + 2) * 10 with the event, anything without it.
int result_of_two_streams(bool with_event, unsigned seed) {
  const WithStreams with(StreamMode::lazy, seed);
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  const Stream first, second;
  const Event event;
  SIMT_LAUNCH(add_kernel, 1, kSize, 0, first, values.data(), 2);
  cudaEventRecord(event, first);
  if (with_event) cudaStreamWaitEvent(second, event, 0);
  SIMT_LAUNCH(multiply_kernel, 1, kSize, 0, second, values.data(), 10);
  cudaStreamSynchronize(second);
  return values.to_host()[0];
}

TEST(LazyStreams, AMissingEventShowsInSomeSeed) {
  bool has_shown = false;
  for (unsigned seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(result_of_two_streams(true, seed), 30);
    has_shown = has_shown || result_of_two_streams(false, seed) != 30;
  }
  EXPECT_TRUE(has_shown);
}

TEST(LazyStreams, AnEventIsTheWorkBeforeItsLastRecording) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const WithStreams with(StreamMode::lazy, seed);
    DeviceArray<int> values(std::vector<int>(kSize, 1));
    Pinned<int> host(kSize);
    const Stream stream;
    const Event event;
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 2);
    cudaEventRecord(event, stream);
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 2);
    cudaEventRecord(event, stream);
    cudaMemcpyAsync(host.data(), values.data(), kBytes, cudaMemcpyDeviceToHost, stream);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(host[0], 5);
  }
}

TEST(LazyStreams, PollingGetsOn) {
  const WithStreams with(StreamMode::lazy, 3);
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  const Stream stream, other;
  const Event event;
  for (int i = 0; i < 5; ++i) SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 1);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  SIMT_LAUNCH(add_kernel, 1, kSize, 0, other, values.data(), 1);
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  int polls = 0;
  while (cudaEventQuery(event) == cudaErrorNotReady) ASSERT_LT(++polls, 100);
  while (cudaStreamQuery(other) == cudaErrorNotReady) ASSERT_LT(++polls, 100);
  EXPECT_EQ(values.to_host()[0], 7);
}

TEST(LazyStreams, TheDefaultStreamIsOrderedWithBlockingOnes) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const WithStreams with(StreamMode::lazy, seed);
    DeviceArray<int> values(std::vector<int>(kSize, 1));
    const Stream blocking(cudaStreamDefault), another(cudaStreamDefault);
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, blocking, values.data(), 2);
    SIMT_LAUNCH(multiply_kernel, 1, kSize, 0, nullptr, values.data(), 10);
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, another, values.data(), 5);
    EXPECT_EQ(cudaStreamSynchronize(another), cudaSuccess);
    EXPECT_EQ(values.to_host()[0], 35);
  }
}

TEST(LazyStreams, FreeingMemoryWaitsForItsWork) {
  const WithStreams with(StreamMode::lazy);
  int* values = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&values), kBytes), cudaSuccess);
  const Stream stream;
  cudaMemsetAsync(values, 0, kBytes, stream);
  SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values, 2);
  EXPECT_EQ(cudaFree(values), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(LazyStreams, AFaultIsReturnedByWhoWaits) {
  const WithStreams with(StreamMode::lazy);
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  const Stream stream;
  SIMT_LAUNCH(fault_kernel, 1, kSize, 0, stream, values.data());
  SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(),
              2);  // dropped, as a context is lost on the device
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  const std::string message = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT_NE(message.find("kernel fault_kernel"), std::string::npos) << message;
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(values.to_host()[0], 1);
}

TEST(LazyStreams, AFaultThatADestructorMetIsKept) {
  const WithStreams with(StreamMode::lazy);
  DeviceArray<int> values(std::vector<int>(kSize, 1));
  {
    const DeviceArray<int> other(kSize);
    SIMT_LAUNCH(fault_kernel, 1, kSize, 0, nullptr, values.data());
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// An operation that another process takes part in: here the test itself is the other one.
TEST(SharedOperations, LetEverythingElseGetOn) {
  for (const StreamMode mode : {StreamMode::eager, StreamMode::lazy}) {
    const WithStreams with(mode, 2);
    auto& streams = emulator::Streams::instance();
    DeviceArray<int> values(std::vector<int>(kSize, 1)), others(std::vector<int>(kSize, 1));
    const Stream stream, other;
    std::atomic<bool> has_come{false};
    std::atomic<int> begun{0};
    streams.enqueue_with_others(stream, [&] {
      ++begun;
      return [&] { return has_come.load(); };
    });
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, stream, values.data(), 2);
    SIMT_LAUNCH(add_kernel, 1, kSize, 0, other, others.data(), 5);
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    std::thread peer([&] {
      SIMT_LAUNCH(add_kernel, 1, kSize, 0, other, others.data(), 5);
      EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
      has_come = true;
    });
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    peer.join();
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(values.to_host()[0], 3);
    EXPECT_EQ(others.to_host()[0], 11);
  }
}

TEST(SharedOperations, AreHelpedAlongAfterAWhile) {
  const WithStreams with(StreamMode::lazy);
  auto& streams = emulator::Streams::instance();
  const Stream stream;
  std::vector<std::string> order;
  streams.enqueue(stream, [&] { order.emplace_back("before"); });
  streams.enqueue_with_others(stream, [&] {
    return [&] {
      order.emplace_back("shared");
      return true;
    };
  });
  streams.enqueue(stream, [&] { order.emplace_back("after"); });
  streams.help_others(std::chrono::hours(1));
  EXPECT_TRUE(order.empty());
  streams.help_others(std::chrono::milliseconds(0));
  EXPECT_EQ(order, (std::vector<std::string>{"before", "shared"}));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(order.size(), 3U);
}

TEST(HostFunctions, TakeTheirTurnAndMayNotCallCuda) {
  const WithStreams with(StreamMode::lazy);
  const Stream stream;
  int calls = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_EQ(cudaLaunchHostFunc(stream, count, &calls), cudaSuccess);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(calls, 1);
  const auto wait = [](void*) { emulator::Streams::instance().wait_all(); };
  EXPECT_EQ(cudaLaunchHostFunc(stream, wait, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_NE(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("may not call CUDA"),
            std::string::npos);
  cudaGetLastError();
}

TEST(Events, ThatWereNeverRecordedAreWaitedForInVain) {
  const Stream stream;
  const Event event;
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);  // as CUDA does
  const test::WithSettings strict([](auto& settings) { settings.strict_events = true; });
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorInvalidResourceHandle);
  EXPECT_NE(std::string(cudaGetErrorString(cudaErrorInvalidResourceHandle)).find("never recorded"),
            std::string::npos);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  cudaGetLastError();
}

TEST(Events, MeasureTheTimeBetweenThem) {
  const Stream stream;
  const Event begin, end;
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
  cudaEventRecord(begin, stream);
  cudaEventRecord(end, stream);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0.0F);
}

}  // namespace
}  // namespace trireme::simt
