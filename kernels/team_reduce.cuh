// SPDX-License-Identifier: Apache-2.0
// Reductions over the threads of a warp or a block, in a fixed order: the same bits in every run and in every
// thread.
#pragma once

#include "kernels/simt/simt.h"

namespace trireme::kernels {

struct AddValues {
  template <typename T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

/// The larger one; NaN where one of them is.
struct LargerOrNan {
  __device__ __forceinline__ float operator()(float a, float b) const {
    if (a != a) return a;
    return b > a || b != b ? b : a;
  }
};

/// Over the 32 lanes; all of them must come. `combine` commutes, so all lanes get the same bits.
template <typename Combine, typename T>
__device__ __forceinline__ T reduce_warp(T value) {
  SIMT_UNROLL
  for (int distance = simt::kWarpSize / 2; distance > 0; distance /= 2)
    value = Combine()(value, __shfl_xor_sync(simt::kFullMask, value, distance));
  return value;
}

/// Over all threads of a one-dimensional block; all of them must come. `shared` is free again afterwards.
template <typename Combine, typename T>
__device__ __forceinline__ T reduce_block(T value, T identity, T* shared) {
  value = reduce_warp<Combine>(value);
  if (simt::lane_id() == 0) shared[simt::warp_id()] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / simt::kWarpSize;
  value = reduce_warp<Combine>(simt::lane_id() < warps ? shared[simt::lane_id()] : identity);
  __syncthreads();
  return value;
}

}  // namespace trireme::kernels
