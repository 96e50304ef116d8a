// SPDX-License-Identifier: Apache-2.0
// Threads that do not come to where others wait for them.
#include "tests/kernels/simt_bugs/bugs.h"

namespace trireme::bugs {
namespace {

using namespace simt;
using test::DeviceArray;

constexpr int kThreads = 64;

__global__ void barrier_kernel(float* to, int threads) {
  if (static_cast<int>(threadIdx.x) < threads) __syncthreads();
  const float sum = __shfl_xor_sync(kFullMask, 1.0F, 1) + 1.0F;
  store(to + threadIdx.x, sum);
}

std::string barrier_in_a_branch(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(barrier_kernel, 1, kThreads, 0, nullptr, to.data(), is_seeded ? 40 : kThreads);
  return difference(to.to_host(), std::vector<float>(kThreads, 2.0F));
}

__global__ void branch_shuffle_kernel(float* to, int lanes) {
  float value = 1.0F;
  if (lane_id() < lanes)
    value += __shfl_xor_sync(kFullMask, value, 1);
  else
    value += __shfl_xor_sync(kFullMask, value, 2);
  store(to + threadIdx.x, value);
}

std::string shuffle_in_a_branch(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(branch_shuffle_kernel, 1, kThreads, 0, nullptr, to.data(), is_seeded ? 16 : 32);
  return difference(to.to_host(), std::vector<float>(kThreads, 2.0F));
}

__global__ void early_exit_kernel(float* to, int count) {
  if (static_cast<int>(threadIdx.x) >= count) return;
  store(to + threadIdx.x, __shfl_xor_sync(kFullMask, 2.0F, 1));
}

std::string shuffle_after_others_exited(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(early_exit_kernel, 1, kThreads, 0, nullptr, to.data(), is_seeded ? kThreads - 1 : kThreads);
  return difference(to.to_host(), std::vector<float>(kThreads, 2.0F));
}

__global__ void no_wait_kernel(const float* from, bool waits) {
  SIMT_SHARED(float, shared, kThreads);
  cp_async<4>(&shared[threadIdx.x], from + threadIdx.x);
  cp_async_commit();
  if (waits) cp_async_wait<0>();
}

std::string exit_with_copies_under_way(bool is_seeded) {
  const DeviceArray<float> from(counting(kThreads));
  SIMT_LAUNCH(no_wait_kernel, 1, kThreads, 0, nullptr, from.data(), !is_seeded);
  return "";
}

}  // namespace

std::vector<Bug> meeting_bugs() {
  return {{"barrier_in_a_branch", barrier_in_a_branch},
          {"shuffle_in_a_branch", shuffle_in_a_branch},
          {"shuffle_after_others_exited", shuffle_after_others_exited},
          {"exit_with_copies_under_way", exit_with_copies_under_way}};
}

}  // namespace trireme::bugs
