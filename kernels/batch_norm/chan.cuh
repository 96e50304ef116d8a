// SPDX-License-Identifier: Apache-2.0
// Blocks that add up tiles by channel: a warp's lanes are 32 neighbouring channels, its tiles are every 16th
// of the block's, and the 16 warps are folded pairwise. Everything is fp64 and in fixed order.
#pragma once

#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

constexpr int kMergeWarps = 16;
constexpr int kMergeThreads = kMergeWarps * simt::kWarpSize;

/// Count, mean and M2 of some values; Chan's formula joins two of them.
struct Spread {
  double count, mean, m2;

  __device__ __forceinline__ void add(const Spread& other) {
    if (other.count == 0) return;
    const double all = count + other.count, delta = other.mean - mean, share = other.count / all;
    mean += delta * share;
    m2 += other.m2 + delta * delta * count * share;
    count = all;
  }
};

/// Two sums.
struct Pair {
  double first, second;

  __device__ __forceinline__ void add(const Pair& other) {
    first += other.first;
    second += other.second;
  }
};

/// Folds the block's warps, lane by lane, into warp 0.
template <typename Value>
__device__ __forceinline__ void fold_warps(Value& own) {
  SIMT_SHARED(Value, others, kMergeThreads / 2);
  for (int half = kMergeWarps / 2; half > 0; half /= 2) {
    const int slot = (simt::warp_id() % half) * simt::kWarpSize + simt::lane_id();
    if (simt::warp_id() >= half && simt::warp_id() < 2 * half) others[slot] = own;
    __syncthreads();
    if (simt::warp_id() < half) own.add(others[slot]);
    __syncthreads();
  }
}

/// The channel of this thread, beyond the pitch for some.
__device__ __forceinline__ int merge_channel() {
  return static_cast<int>(blockIdx.x) * simt::kWarpSize + simt::lane_id();
}

}  // namespace trireme::kernels
