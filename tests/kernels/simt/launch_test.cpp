// SPDX-License-Identifier: Apache-2.0
// What a launch may be, in which order its threads go, and on how many OS threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using emulator::Order;
using emulator::Settings;
using test::DeviceArray;
using test::fault_of;
using test::WithSettings;

__global__ void indices_kernel(unsigned* seen) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  __syncthreads();  // indices are a thread's own after a switch too
  atomicAdd(seen + block * threads + thread, threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z);
}

TEST(Launch, EachThreadOfTheGridRunsOnceWithItsIndices) {
  const dim3 grid(3, 2, 2), block(8, 4, 2);
  DeviceArray<unsigned> device(std::vector<unsigned>(12 * 64, 0));
  SIMT_LAUNCH(indices_kernel, grid, block, 0, nullptr, device.data());
  const auto seen = device.to_host();
  for (unsigned i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], i % 8 + 100 * (i / 8 % 4) + 10000 * (i / 32 % 2));
}

struct Arguments {
  const int* from;
  int* to;
  int factor;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(from);
    visit(to);
  }
};

__global__ void scale_kernel(Arguments arguments, long long offset) {
  store(arguments.to + threadIdx.x,
        load(arguments.from + threadIdx.x) * arguments.factor + static_cast<int>(offset));
}
__global__ void one_pointer_kernel(const int* pointer) {
  if (pointer != nullptr) load(pointer);
}

TEST(Launch, TakesStructsAndConvertsNumbers) {
  const DeviceArray<int> from(std::vector<int>(32, 5));
  DeviceArray<int> to(32);
  SIMT_LAUNCH(scale_kernel, 1, 32, 0, nullptr, Arguments{from.data(), to.data(), 3}, 1);
  EXPECT_EQ(to.to_host(), std::vector<int>(32, 16));
}

TEST(LaunchFaults, PointersAreNullOrLiveDeviceMemory) {
  SIMT_LAUNCH(one_pointer_kernel, 1, 32, 0, nullptr, static_cast<const int*>(nullptr));
  int host[8] = {};
  std::string fault =
      fault_of([&] { SIMT_LAUNCH(one_pointer_kernel, 1, 32, 0, nullptr, static_cast<const int*>(host)); });
  EXPECT_NE(fault.find("host memory or unknown"), std::string::npos) << fault;
  EXPECT_NE(fault.find(std::string(__FILE__) + ":"), std::string::npos) << fault;

  int* freed = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&freed), 100), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  fault = fault_of([&] { SIMT_LAUNCH(one_pointer_kernel, 1, 32, 0, nullptr, freed + 2); });
  EXPECT_NE(fault.find("freed device memory (byte 8 of 100)"), std::string::npos) << fault;

  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 100), cudaSuccess);
  fault = fault_of([&] { SIMT_LAUNCH(one_pointer_kernel, 1, 32, 0, nullptr, pinned); });
  EXPECT_NE(fault.find("pinned host memory"), std::string::npos) << fault;
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);

  DeviceArray<int> to(32);
  fault = fault_of([&] {
    SIMT_LAUNCH(scale_kernel, 1, 32, 0, nullptr, Arguments{static_cast<const int*>(host), to.data(), 1}, 0);
  });
  EXPECT_NE(fault.find("host memory or unknown"), std::string::npos) << fault;
}

__global__ void nothing_kernel() {}

TEST(LaunchFaults, ShapesAreThoseOfTheHardware) {
  EXPECT_EQ(fault_of([] { SIMT_LAUNCH(nothing_kernel, 1, 1024, 0, nullptr); }), "");
  EXPECT_EQ(fault_of([] { SIMT_LAUNCH(nothing_kernel, 1, 32, 227 * 1024, nullptr); }), "");
  const auto fault = [](dim3 grid, dim3 block, std::size_t shared) {
    return fault_of([&] { SIMT_LAUNCH(nothing_kernel, grid, block, shared, nullptr); });
  };
  EXPECT_NE(fault(1, 1025, 0).find("1025 threads"), std::string::npos);
  EXPECT_NE(fault(1, dim3(32, 33), 0).find("1056 threads"), std::string::npos);
  EXPECT_NE(fault(1, 0, 0).find("0 threads"), std::string::npos);
  EXPECT_NE(fault(0, 32, 0).find("0 x 1 x 1 blocks"), std::string::npos);
  EXPECT_NE(fault(dim3(1, 65536), 32, 0).find("65536"), std::string::npos);
  EXPECT_NE(fault(1, 32, 227 * 1024 + 1).find("shared memory"), std::string::npos);
}

TEST(LaunchFaults, StreamsExist) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  const std::string fault = fault_of([&] { SIMT_LAUNCH(nothing_kernel, 1, 32, 0, stream); });
  EXPECT_NE(fault.find("stream does not exist"), std::string::npos) << fault;
}

/// The order in which threads come: each takes the next number.
__global__ void arrival_kernel(int* next, int* order) {
  const int number = atomicAdd(next, 1);
  store(order + number, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
  __syncthreads();
  const int second = atomicAdd(next, 1);
  store(order + second, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

std::vector<int> arrivals(Order order, std::uint64_t seed) {
  const WithSettings with([&](Settings& settings) {
    settings.order = order;
    settings.seed = seed;
    settings.threads = 1;
  });
  DeviceArray<int> next(std::vector<int>(1, 0)), to(3 * 64 * 2);
  SIMT_LAUNCH(arrival_kernel, 3, 64, 0, nullptr, next.data(), to.data());
  return to.to_host();
}

TEST(Orders, ForwardAndReverseAreWhatTheySay) {
  std::vector<int> expected;
  for (int block = 0; block < 3; ++block)
    for (int time = 0; time < 2; ++time)
      for (int thread = 0; thread < 64; ++thread) expected.push_back(64 * block + thread);
  EXPECT_EQ(arrivals(Order::forward, 0), expected);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(arrivals(Order::reverse, 0), expected);
}

TEST(Orders, ASeedGivesOneOrderAndAnotherSeedAnother) {
  const auto first = arrivals(Order::seeded, 1);
  EXPECT_EQ(arrivals(Order::seeded, 1), first);
  EXPECT_NE(arrivals(Order::seeded, 2), first);
  EXPECT_NE(arrivals(Order::forward, 0), first);
  // All threads of a block come twice, and none a second time before all were there.
  for (int block = 0; block < 3; ++block)
    for (int time = 0; time < 2; ++time) {
      const auto begin = first.begin() + (2 * block + time) * 64;
      EXPECT_EQ(std::set<int>(begin, begin + 64).size(), 64U);
    }
}

__global__ void sum_kernel(const int* from, long long* sums) {
  SIMT_SHARED(int, shared, 128);
  shared[threadIdx.x] = load(from + blockIdx.x * 128 + threadIdx.x);
  __syncthreads();
  for (unsigned half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) store(sums + blockIdx.x, static_cast<long long>(shared[0]));
}

TEST(OsThreads, ShareTheBlocksOfAGrid) {
  constexpr int kBlocks = 60;
  std::vector<int> values(kBlocks * 128);
  std::iota(values.begin(), values.end(), 0);
  const DeviceArray<int> from(values);
  const WithSettings with([](Settings& settings) { settings.threads = 4; });
  for (int repeat = 0; repeat < 5; ++repeat) {
    DeviceArray<long long> to(kBlocks);
    SIMT_LAUNCH(sum_kernel, kBlocks, 128, 0, nullptr, from.data(), to.data());
    const auto sums = to.to_host();
    for (int block = 0; block < kBlocks; ++block)
      ASSERT_EQ(sums[static_cast<std::size_t>(block)], 128LL * 128 * block + 127 * 64);
  }
}

__global__ void fail_in_block_kernel(const int* from) {
  if (blockIdx.x >= 100) load(from + 1);
}

TEST(OsThreads, AFaultInAnyBlockEndsTheLaunch) {
  const DeviceArray<int> from(1);
  const WithSettings with([](Settings& settings) { settings.threads = 3; });
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::string fault =
        fault_of([&] { SIMT_LAUNCH(fail_in_block_kernel, 300, 32, 0, nullptr, from.data()); });
    EXPECT_NE(fault.find("0 bytes past the end"), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace trireme::simt
