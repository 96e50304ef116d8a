// SPDX-License-Identifier: Apache-2.0
// Threads that do not wait for one another, or for their copies.
#include "tests/kernels/simt_bugs/bugs.h"

namespace trireme::bugs {
namespace {

using namespace simt;
using test::DeviceArray;

constexpr int kThreads = 64;

/// Each thread hands its value to its mirror image, `rounds` times.
__global__ void mirror_kernel(const float* from, float* to, int rounds, bool sync_after_write,
                              bool sync_after_read) {
  SIMT_SHARED(float, shared, kThreads);
  float value = load(from + threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    shared[threadIdx.x] = value;
    if (sync_after_write) __syncthreads();
    value = shared[kThreads - 1 - threadIdx.x] + 1.0F;
    if (sync_after_read) __syncthreads();
  }
  store(to + threadIdx.x, value);
}

std::string mirror(int rounds, bool sync_after_write, bool sync_after_read) {
  const std::vector<float> values = counting(kThreads);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(mirror_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), rounds, sync_after_write,
              sync_after_read);
  std::vector<float> expected(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i)
    expected[i] = (rounds % 2 == 0 ? values[i] : values[kThreads - 1 - i]) + static_cast<float>(rounds);
  return difference(to.to_host(), expected);
}

std::string missing_syncthreads(bool is_seeded) {
  return mirror(1, !is_seeded, true);
}
std::string missing_syncthreads_before_rewrite(bool is_seeded) {
  return mirror(4, true, !is_seeded);
}

__global__ void warp_mirror_kernel(const float* from, float* to, bool sync) {
  SIMT_SHARED(float, shared, kThreads);
  shared[threadIdx.x] = load(from + threadIdx.x);
  if (sync) __syncwarp();
  store(to + threadIdx.x, shared[threadIdx.x ^ 31]);
}

std::string missing_syncwarp(bool is_seeded) {
  const std::vector<float> values = counting(kThreads);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(warp_mirror_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), !is_seeded);
  std::vector<float> expected(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) expected[i] = values[i ^ 31];
  return difference(to.to_host(), expected);
}

__global__ void matrix_without_sync_kernel(const std::uint32_t* from, std::uint32_t* to, bool sync) {
  SIMT_SHARED(Vector16<std::uint32_t>, rows, 32);
  rows[lane_id()] = load16(from + 4 * lane_id());
  if (sync) __syncwarp();
  std::uint32_t fragment[4];
  ldmatrix_x4<false>(fragment, &rows[lane_id() ^ 7]);
  for (int i = 0; i < 4; ++i) store(to + 4 * lane_id() + i, fragment[i]);
}

/// The emulator's lanes meet in ldmatrix, so the result is right: only who watches the order can see it.
std::string missing_sync_before_ldmatrix(bool is_seeded) {
  std::vector<std::uint32_t> values(128), expected(128);
  for (std::uint32_t i = 0; i < 128; ++i) values[i] = i + 1;
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t part = 0; part < 4; ++part)
      expected[4 * lane + part] = values[4 * ((8 * part + lane / 4) ^ 7) + lane % 4];
  const DeviceArray<std::uint32_t> from(values);
  DeviceArray<std::uint32_t> to(128);
  SIMT_LAUNCH(matrix_without_sync_kernel, 1, 32, 0, nullptr, from.data(), to.data(), !is_seeded);
  return difference(to.to_host(), expected);
}

constexpr int kTiles = 6, kStages = 3;

enum class PipelineFault { none, waits_for_one_less, refills_before_the_barrier };

/// Adds up tiles that come through three stages of shared memory; each thread reads its mirror image's
/// element.
__global__ void pipeline_kernel(const float* from, float* to, PipelineFault fault) {
  SIMT_SHARED(Vector16<float>, stages, kStages * kThreads);
  const auto fetch = [&](int tile) {
    if (tile < kTiles)
      cp_async<16>(&stages[tile % kStages * kThreads + static_cast<int>(threadIdx.x)],
                   from + 4 * (tile * kThreads + static_cast<int>(threadIdx.x)));
    cp_async_commit();
  };
  fetch(0);
  fetch(1);
  float sum = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    if (fault == PipelineFault::waits_for_one_less)
      cp_async_wait<kStages - 1>();
    else
      cp_async_wait<kStages - 2>();
    // The slot of tile + 2 was read in the step before, by others too.
    if (fault == PipelineFault::refills_before_the_barrier) fetch(tile + 2);
    __syncthreads();
    if (fault != PipelineFault::refills_before_the_barrier) fetch(tile + 2);
    sum += stages[tile % kStages * kThreads + kThreads - 1 - static_cast<int>(threadIdx.x)][0];
  }
  cp_async_wait<0>();
  store(to + threadIdx.x, sum);
}

std::string pipeline(PipelineFault fault) {
  const std::vector<float> values = counting(kTiles * kThreads * 4);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(pipeline_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), fault);
  std::vector<float> expected(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i)
    for (std::size_t tile = 0; tile < kTiles; ++tile)
      expected[i] += values[4 * (tile * kThreads + kThreads - 1 - i)];
  return difference(to.to_host(), expected);
}

std::string async_wait_one_group_short(bool is_seeded) {
  return pipeline(is_seeded ? PipelineFault::waits_for_one_less : PipelineFault::none);
}
std::string stage_refilled_early(bool is_seeded) {
  return pipeline(is_seeded ? PipelineFault::refills_before_the_barrier : PipelineFault::none);
}

__global__ void one_word_kernel(float* word, bool of_one_block) {
  if (threadIdx.x == 0 && (!of_one_block || blockIdx.x == 0)) store(word, 1.0F);
}

/// All write the same value: the result is right whatever the order.
std::string two_blocks_write_one_word(bool is_seeded) {
  DeviceArray<float> word(std::vector<float>(1, 0.0F));
  SIMT_LAUNCH(one_word_kernel, 2, 32, 0, nullptr, word.data(), !is_seeded);
  return difference(word.to_host(), {1.0F});
}

}  // namespace

std::vector<Bug> order_bugs() {
  return {{"missing_syncthreads", missing_syncthreads},
          {"missing_syncthreads_before_rewrite", missing_syncthreads_before_rewrite},
          {"missing_syncwarp", missing_syncwarp},
          {"missing_sync_before_ldmatrix", missing_sync_before_ldmatrix},
          {"async_wait_one_group_short", async_wait_one_group_short},
          {"stage_refilled_early", stage_refilled_early},
          {"two_blocks_write_one_word", two_blocks_write_one_word}};
}

}  // namespace trireme::bugs
