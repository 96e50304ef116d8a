// SPDX-License-Identifier: Apache-2.0
// Barriers of a block and named ones, and what is said of blocks that do not get through them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using test::DeviceArray;
using test::fault_of;
using test::place;

__global__ void reverse_kernel(int* values, int rounds) {
  SIMT_SHARED(int, shared, 96);
  int value = load(values + threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    shared[threadIdx.x] = value;
    __syncthreads();
    value = shared[95 - threadIdx.x] + 1;
    __syncthreads();
  }
  store(values + threadIdx.x, value);
}

TEST(Barrier, OrdersWritesBeforeReads) {
  std::vector<int> values(96);
  for (int i = 0; i < 96; ++i) values[static_cast<std::size_t>(i)] = 10 * i;
  DeviceArray<int> device(values);
  SIMT_LAUNCH(reverse_kernel, 1, 96, 0, nullptr, device.data(), 5);
  const auto result = device.to_host();
  for (int i = 0; i < 96; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], 10 * (95 - i) + 5);
}

/// A warp that produces and one that consumes, through a buffer of one stage; two more warps do not take
/// part.
__global__ void produce_kernel(int* results, int count) {
  SIMT_SHARED(int, stage, 32);
  constexpr int kFilled = 1, kEmpty = 2;
  if (warp_id() == 0) {
    for (int i = 0; i < count; ++i) {
      barrier_sync(kEmpty, 64);
      stage[lane_id()] = 100 * i + lane_id();
      barrier_arrive(kFilled, 64);
    }
  } else if (warp_id() == 1) {
    for (int i = 0; i < count; ++i) {
      barrier_arrive(kEmpty, 64);
      barrier_sync(kFilled, 64);
      store(results + i * 32 + lane_id(), stage[31 - lane_id()]);
    }
  }
}

TEST(NamedBarrier, HandsAStageOverAndBack) {
  DeviceArray<int> device(4 * 32);
  SIMT_LAUNCH(produce_kernel, 1, 128, 0, nullptr, device.data(), 4);
  const auto results = device.to_host();
  for (int i = 0; i < 4; ++i)
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(results[static_cast<std::size_t>(i * 32 + lane)], 100 * i + 31 - lane);
}

__global__ void two_groups_kernel(int* results) {
  SIMT_SHARED(int, shared, 128);
  const int group = static_cast<int>(threadIdx.x) / 64, own = static_cast<int>(threadIdx.x) % 64;
  // The groups meet different numbers of times.
  for (int round = 0; round < 1 + group; ++round) {
    shared[64 * group + own] = round + own;
    barrier_sync(3 + group, 64);
    store(results + threadIdx.x, shared[64 * group + 63 - own]);
    barrier_sync(3 + group, 64);
  }
}

TEST(NamedBarrier, GroupsDoNotMeetOtherGroups) {
  DeviceArray<int> device(128);
  SIMT_LAUNCH(two_groups_kernel, 1, 128, 0, nullptr, device.data());
  const auto results = device.to_host();
  for (int i = 0; i < 128; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i / 64 + 63 - i % 64);
}

// The lines that the messages must name.
constexpr int kBranchLine = __LINE__ + 3;
__global__ void barrier_in_branch_kernel() {
  if (threadIdx.x < 40)
    __syncthreads();
  else if (threadIdx.x < 64)
    __syncwarp(0xFFFFFF00U);
  if (threadIdx.x >= 40) return;
}

TEST(BarrierFaults, ABarrierInABranchIsADeadlockWithPlaces) {
  const std::string fault = fault_of([] { SIMT_LAUNCH(barrier_in_branch_kernel, 1, 96, 0, nullptr); });
  EXPECT_NE(fault.find("deadlock"), std::string::npos) << fault;
  EXPECT_NE(fault.find("40 threads in __syncthreads at " + place(__FILE__, kBranchLine)), std::string::npos)
      << fault;
  EXPECT_NE(fault.find("exited"), std::string::npos) << fault;
}

__global__ void two_barriers_kernel() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

TEST(BarrierFaults, OneBarrierIsNotAnother) {
  const std::string fault = fault_of([] { SIMT_LAUNCH(two_barriers_kernel, 1, 64, 0, nullptr); });
  EXPECT_NE(fault.find("waits in __syncthreads while other threads wait in that of"), std::string::npos)
      << fault;
}

__global__ void missing_thread_kernel() {
  if (threadIdx.x == 0) return;
  __syncthreads();
}

TEST(BarrierFaults, ThreadsThatHaveExitedAreMissing) {
  const std::string fault =
      fault_of([] { SIMT_LAUNCH(missing_thread_kernel, dim3(2, 1, 1), 64, 0, nullptr); });
  EXPECT_NE(fault.find("1 thread exited"), std::string::npos) << fault;
  EXPECT_NE(fault.find("63 threads in __syncthreads"), std::string::npos) << fault;
}

__global__ void bad_named_kernel(int id, int threads) {
  barrier_sync(id, threads);
}

TEST(BarrierFaults, NamedBarriersHaveIdsAndWholeWarps) {
  for (const auto& [id, threads] :
       {std::pair(0, 64), std::pair(16, 64), std::pair(1, 33), std::pair(1, 96)}) {
    const std::string fault = fault_of(
        [&, id = id, threads = threads] { SIMT_LAUNCH(bad_named_kernel, 1, 64, 0, nullptr, id, threads); });
    EXPECT_NE(fault.find("barrier " + std::to_string(id)), std::string::npos) << fault;
  }
}

__global__ void unequal_counts_kernel() {
  barrier_sync(1, warp_id() == 0 ? 64 : 96);
}

TEST(BarrierFaults, ThreadsOfANamedBarrierAgreeOnTheirNumber) {
  const std::string fault = fault_of([] { SIMT_LAUNCH(unequal_counts_kernel, 1, 96, 0, nullptr); });
  EXPECT_NE(fault.find("comes to barrier 1 for"), std::string::npos) << fault;
}

}  // namespace
}  // namespace trireme::simt
