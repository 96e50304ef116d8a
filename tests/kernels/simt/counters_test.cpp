// SPDX-License-Identifier: Apache-2.0
// Counts of launches whose sectors, conflicts and barriers are known.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using emulator::KernelCounts;
using emulator::take_counts;
using test::DeviceArray;
using test::WithSettings;

/// Counts one launch and what it waits for.
template <typename Launch>
KernelCounts counts_of(Launch launch) {
  const WithSettings with([](emulator::Settings& settings) { settings.counting = true; });
  take_counts();
  EXPECT_EQ(test::fault_of(launch), "");
  const auto counts = take_counts();
  EXPECT_EQ(counts.size(), 1U);
  return counts.empty() ? KernelCounts{} : counts.front();
}

/// Thread i reads element i * stride and writes element i.
__global__ void strided_kernel(const float* from, float* to, int stride) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  store(to + i, load(from + i * stride));
}

TEST(SectorCounts, NeighboursShareSectors) {
  const DeviceArray<float> from(std::vector<float>(64, 1.0F));
  DeviceArray<float> to(64);
  const KernelCounts counts =
      counts_of([&] { SIMT_LAUNCH(strided_kernel, 2, 32, 0, nullptr, from.data(), to.data(), 1); });
  EXPECT_NE(counts.kernel.find("strided_kernel"), std::string::npos);
  EXPECT_EQ(counts.launches, 1);
  EXPECT_EQ(counts.blocks, 2);
  EXPECT_EQ(counts.read_sectors, 8);
  EXPECT_EQ(counts.written_sectors, 8);
  EXPECT_EQ(counts.requested_sectors, 16);
  EXPECT_EQ(counts.ideal_sectors, 16);
  EXPECT_EQ(counts.distinct_bytes(), 512);
}

TEST(SectorCounts, StridesRequestMoreThanTheyUse) {
  const DeviceArray<float> from(std::vector<float>(32 * 16, 1.0F));
  DeviceArray<float> to(32);
  const KernelCounts counts =
      counts_of([&] { SIMT_LAUNCH(strided_kernel, 1, 32, 0, nullptr, from.data(), to.data(), 16); });
  EXPECT_EQ(counts.read_sectors, 32);
  EXPECT_EQ(counts.written_sectors, 4);
  EXPECT_EQ(counts.requested_sectors, 32 + 4);
  EXPECT_EQ(counts.ideal_sectors, 4 + 4);
}

__global__ void reread_kernel(const float* from, float* to) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += load(from + (threadIdx.x + i) % 32);
  // Half of the lanes do not come here.
  if (threadIdx.x % 32 < 16) store(to + threadIdx.x, sum);
}

TEST(SectorCounts, RepeatedReadsAreRequestedAgainButMovedOnce) {
  const DeviceArray<float> from(std::vector<float>(32, 1.0F));
  DeviceArray<float> to(64);
  const KernelCounts counts =
      counts_of([&] { SIMT_LAUNCH(reread_kernel, 1, 64, 0, nullptr, from.data(), to.data()); });
  EXPECT_EQ(counts.read_sectors, 4);
  EXPECT_EQ(counts.written_sectors, 2 + 2);
  EXPECT_EQ(counts.requested_sectors, 2 * 4 * 4 + 2 * 2);
  EXPECT_EQ(counts.ideal_sectors, counts.requested_sectors);
  EXPECT_EQ(counts.request_ratio(), 1.0);
}

/// ldmatrix of rows that stand `pitch` vectors of 16 bytes apart, filled by cp.async.
__global__ void rows_kernel(const float* from, int pitch, bool swizzle) {
  SIMT_SHARED(Vector16<float>, shared, 32 * 8);
  const int lane = lane_id();
  const int place = swizzle ? 8 * lane + lane % 8 : pitch * lane;
  cp_async<16>(shared + place, from + 4 * lane);
  cp_async_commit();
  cp_async_wait<0>();
  __syncwarp();
  std::uint32_t fragment[4];
  ldmatrix_x4<false>(fragment, shared + place);
}

TEST(ConflictCounts, RowsInOneBankAreEightPasses) {
  const DeviceArray<float> from(std::vector<float>(128, 1.0F));
  const auto counts = [&](int pitch, bool swizzle) {
    return counts_of([&] { SIMT_LAUNCH(rows_kernel, 1, 32, 0, nullptr, from.data(), pitch, swizzle); });
  };
  EXPECT_EQ(counts(1, false).conflict_ratio(), 1.0);
  EXPECT_EQ(counts(8, false).conflict_ratio(), 8.0);
  EXPECT_EQ(counts(2, false).conflict_ratio(), 2.0);
  EXPECT_EQ(counts(8, true).conflict_ratio(), 1.0);
  EXPECT_EQ(counts(1, false).ideal_wavefronts, 8);  // four of the copy, four of ldmatrix
}

__global__ void work_kernel() {
  for (int i = 0; i < 3; ++i) __syncthreads();
  barrier_sync(1, 64);
  float d[2][1][4] = {};
  const std::uint32_t a[2][4] = {}, b[1][2] = {};
  warp_mma<BFloat16, 2, 1>(d, a, b);
}

TEST(WorkCounts, BarriersAndFlops) {
  const KernelCounts counts = counts_of([] { SIMT_LAUNCH(work_kernel, 5, 64, 0, nullptr); });
  EXPECT_EQ(counts.barriers, 5 * 4);
  EXPECT_EQ(counts.flops, 5 * 2 * 2 * (2 * 16 * 8 * 16));
}

TEST(WorkCounts, AddOverLaunchesAndBeginAnew) {
  const KernelCounts counts = counts_of([] {
    SIMT_LAUNCH(work_kernel, 1, 64, 0, nullptr);
    SIMT_LAUNCH(work_kernel, 1, 64, 0, nullptr);
  });
  EXPECT_EQ(counts.launches, 2);
  EXPECT_EQ(counts.barriers, 8);
  EXPECT_TRUE(take_counts().empty());
}

TEST(AllocationCounts, TellWhichMemoryIsMoved) {
  const DeviceArray<float> from(std::vector<float>(64, 1.0F));
  DeviceArray<float> to(64);
  const KernelCounts counts =
      counts_of([&] { SIMT_LAUNCH(strided_kernel, 2, 32, 0, nullptr, from.data(), to.data(), 1); });
  ASSERT_EQ(counts.allocations.size(), 2U);
  for (const emulator::AllocationCounts& each : counts.allocations) {
    EXPECT_TRUE(each.begin == from.data() || each.begin == to.data());
    EXPECT_EQ(each.read_sectors, each.begin == from.data() ? 8 : 0);
    EXPECT_EQ(each.written_sectors, each.begin == to.data() ? 8 : 0);
  }
}

}  // namespace
}  // namespace trireme::simt
