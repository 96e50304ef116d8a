// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes and reductions, also of parts of a warp.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using test::DeviceArray;
using test::fault_of;

constexpr int kWidths = 6;  // 1, 2 .. 32

/// Four kinds of shuffle for each width, of values 100 + lane.
__global__ void shuffle_kernel(int* results) {
  const int lane = lane_id(), value = 100 + lane;
  for (int i = 0; i < kWidths; ++i) {
    const int width = 1 << i;
    int* own = results + (i * 32 + lane) * 4;
    store(own, __shfl_sync(kFullMask, value, lane + 5, width));
    store(own + 1, __shfl_xor_sync(kFullMask, value, 3, width));
    store(own + 2, __shfl_up_sync(kFullMask, value, 2, width));
    store(own + 3, __shfl_down_sync(kFullMask, value, 2, width));
  }
}

TEST(Shuffle, ReadsTheLaneThatTheSectionAllows) {
  DeviceArray<int> device(kWidths * 32 * 4);
  SIMT_LAUNCH(shuffle_kernel, 1, 32, 0, nullptr, device.data());
  const auto results = device.to_host();
  for (int i = 0; i < kWidths; ++i)
    for (int lane = 0; lane < 32; ++lane) {
      const int width = 1 << i, begin = lane / width * width;
      const int* own = results.data() + (i * 32 + lane) * 4;
      EXPECT_EQ(own[0], 100 + begin + (lane + 5) % width);
      const int across = lane ^ 3;
      EXPECT_EQ(own[1], 100 + (across < begin + width ? across : lane))
          << "width " << width << " lane " << lane;
      EXPECT_EQ(own[2], 100 + (lane - 2 >= begin ? lane - 2 : lane));
      EXPECT_EQ(own[3], 100 + (lane + 2 < begin + width ? lane + 2 : lane));
    }
}

template <typename T>
__global__ void rotate_kernel(T* values) {
  store(values + threadIdx.x, __shfl_sync(kFullMask, load(values + threadIdx.x), lane_id() + 1));
}

TEST(Shuffle, CarriesTypesOfOtherSizes) {
  std::vector<double> doubles(32);
  std::vector<BFloat16> halves(32);
  for (int lane = 0; lane < 32; ++lane) {
    doubles[static_cast<std::size_t>(lane)] = 0.1 * lane;
    halves[static_cast<std::size_t>(lane)] = __float2bfloat16_rn(static_cast<float>(lane));
  }
  DeviceArray<double> device_doubles(doubles);
  DeviceArray<BFloat16> device_halves(halves);
  SIMT_LAUNCH(rotate_kernel<double>, 1, 32, 0, nullptr, device_doubles.data());
  SIMT_LAUNCH(rotate_kernel<BFloat16>, 1, 32, 0, nullptr, device_halves.data());
  const auto rotated = device_doubles.to_host();
  const auto rotated_halves = device_halves.to_host();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(rotated[static_cast<std::size_t>(lane)], 0.1 * ((lane + 1) % 32));
    EXPECT_EQ(__bfloat162float(rotated_halves[static_cast<std::size_t>(lane)]),
              static_cast<float>((lane + 1) % 32));
  }
}

/// Votes of the lanes of `mask`; each lane's number is its square.
__global__ void vote_kernel(unsigned mask, unsigned predicates, unsigned* results) {
  const unsigned lane = threadIdx.x;
  if ((mask >> lane & 1U) == 0) return;
  const int predicate = static_cast<int>(predicates >> lane & 1U);
  unsigned* own = results + lane * 6;
  store(own, __ballot_sync(mask, predicate));
  store(own + 1, static_cast<unsigned>(__any_sync(mask, predicate)));
  store(own + 2, static_cast<unsigned>(__all_sync(mask, predicate)));
  store(own + 3, __reduce_add_sync(mask, lane * lane));
  store(own + 4, __reduce_max_sync(mask, lane * lane));
  store(own + 5, __reduce_min_sync(mask, lane * lane));
}

TEST(Vote, CountsTheLanesOfTheMaskAlone) {
  for (const unsigned mask : {kFullMask, 0x0000FFFFU, 0xA5A5A5A5U, 0x80000000U})
    for (const unsigned predicates : {0U, kFullMask, 0x12345678U, mask}) {
      DeviceArray<unsigned> device(std::vector<unsigned>(32 * 6, 77));
      SIMT_LAUNCH(vote_kernel, 1, 32, 0, nullptr, mask, predicates, device.data());
      const auto results = device.to_host();
      unsigned sum = 0, maximum = 0, minimum = ~0U;
      for (unsigned lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1U) == 0) continue;
        sum += lane * lane;
        maximum = std::max(maximum, lane * lane);
        minimum = std::min(minimum, lane * lane);
      }
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned* own = results.data() + lane * 6;
        if ((mask >> lane & 1U) == 0) {
          EXPECT_EQ(own[0], 77U);
          continue;
        }
        EXPECT_EQ(own[0], mask & predicates);
        EXPECT_EQ(own[1], static_cast<unsigned>((mask & predicates) != 0));
        EXPECT_EQ(own[2], static_cast<unsigned>((mask & predicates) == mask));
        EXPECT_EQ(own[3], sum);
        EXPECT_EQ(own[4], maximum);
        EXPECT_EQ(own[5], minimum);
      }
    }
}

/// The upper half does a step of its own while the lower half is already where the whole warp meets.
__global__ void halves_kernel(int* results) {
  int value = lane_id();
  if (value >= 16) value = __shfl_xor_sync(0xFFFF0000U, value, 1);
  value = __shfl_sync(kFullMask, value, lane_id() ^ 16);
  store(results + threadIdx.x, value);
}

TEST(PartialMask, MayBePendingBesideOneOfTheWholeWarp) {
  DeviceArray<int> device(64);
  SIMT_LAUNCH(halves_kernel, 1, 64, 0, nullptr, device.data());
  const auto results = device.to_host();
  for (int thread = 0; thread < 64; ++thread) {
    const int lane = thread % 32, read = lane ^ 16;
    EXPECT_EQ(results[static_cast<std::size_t>(thread)], read >= 16 ? read ^ 1 : read);
  }
}

__global__ void groups_kernel(int* results) {
  // Four groups of eight, each three turns of its own in a loop that the others leave earlier or later.
  const unsigned group = threadIdx.x / 8, mask = 0xFFU << (8 * group);
  int sum = 0;
  for (unsigned turn = 0; turn <= group; ++turn)
    sum += __shfl_xor_sync(mask, static_cast<int>(threadIdx.x), 1);
  __syncwarp();
  store(results + threadIdx.x, sum);
}

TEST(PartialMask, GroupsGoTheirOwnWays) {
  DeviceArray<int> device(32);
  SIMT_LAUNCH(groups_kernel, 1, 32, 0, nullptr, device.data());
  const auto results = device.to_host();
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(results[static_cast<std::size_t>(lane)], (lane ^ 1) * (lane / 8 + 1));
}

__global__ void divergent_shuffle_kernel(int* results) {
  int value = lane_id();
  if (value < 16)
    value = __shfl_xor_sync(kFullMask, value, 1);
  else
    value = __shfl_xor_sync(kFullMask, value, 2);
  store(results + threadIdx.x, value);
}

TEST(WarpFaults, TwoBranchesThatWaitForEachOther) {
  DeviceArray<int> device(32);
  const std::string fault =
      fault_of([&] { SIMT_LAUNCH(divergent_shuffle_kernel, 1, 32, 0, nullptr, device.data()); });
  EXPECT_NE(fault.find("kernel divergent_shuffle_kernel, launched at " __FILE__), std::string::npos) << fault;
  EXPECT_NE(fault.find("each waits for the other"), std::string::npos) << fault;
  EXPECT_NE(fault.find("mask 0xffffffff (" __FILE__ ":"), std::string::npos) << fault;
}

__global__ void foreign_mask_kernel() {
  __syncwarp(0x0000FFFFU);
}
__global__ void exited_lane_kernel() {
  if (lane_id() == 3) return;
  __syncwarp();
}
__global__ void odd_width_kernel() {
  __shfl_sync(kFullMask, 1, 0, 12);
}

TEST(WarpFaults, MasksNameTheirCallerAndLanesThatAreThere) {
  std::string fault = fault_of([] { SIMT_LAUNCH(foreign_mask_kernel, 1, 32, 0, nullptr); });
  EXPECT_NE(fault.find("0x0000ffff"), std::string::npos) << fault;
  fault = fault_of([] { SIMT_LAUNCH(exited_lane_kernel, 1, 32, 0, nullptr); });
  EXPECT_TRUE(fault.find("lane 3 has exited") != std::string::npos ||
              fault.find("deadlock: 1 thread exited") != std::string::npos)
      << fault;
  fault = fault_of([] { SIMT_LAUNCH(odd_width_kernel, 1, 32, 0, nullptr); });
  EXPECT_NE(fault.find("width 12"), std::string::npos) << fault;
}

TEST(WarpFaults, ALaunchAfterAFaultIsAsGoodAsNew) {
  DeviceArray<int> device(64);
  EXPECT_NE(fault_of([&] { SIMT_LAUNCH(divergent_shuffle_kernel, 1, 32, 0, nullptr, device.data()); }), "");
  SIMT_LAUNCH(halves_kernel, 1, 64, 0, nullptr, device.data());
  EXPECT_EQ(device.to_host()[0], 17);
}

}  // namespace
}  // namespace trireme::simt
