// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

namespace trireme::simt {

using BFloat16 = __nv_bfloat16;
using Half = __half;

/// Marks operands that tensor cores read as tf32: fp32 in memory, of which they use the upper 19 bits.
struct Tf32 {
  float value;
};

/// 16 bytes of elements that are loaded and stored by one 128-bit access.
template <typename T>
struct alignas(16) Vector16 {
  static_assert(16 % sizeof(T) == 0, "elements fill 16 bytes");
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));

  T values[kSize];

  __host__ __device__ T& operator[](int i) { return values[i]; }
  __host__ __device__ const T& operator[](int i) const { return values[i]; }
};

constexpr unsigned kFullMask = 0xFFFFFFFFU;
constexpr int kWarpSize = 32;

}  // namespace trireme::simt
