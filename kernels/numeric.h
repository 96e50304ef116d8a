// SPDX-License-Identifier: Apache-2.0
// Element types of kernels: conversions, and what fits into one 128-bit access.
#pragma once

#include "kernels/simt/simt.h"

namespace trireme::kernels {

using simt::BFloat16;
using simt::Half;
using simt::Tf32;

__host__ __device__ inline float to_float(BFloat16 value) {
  return __bfloat162float(value);
}
__host__ __device__ inline float to_float(Half value) {
  return __half2float(value);
}
__host__ __device__ inline float to_float(float value) {
  return value;
}
__host__ __device__ inline float to_float(Tf32 value) {
  return value.value;
}

/// Round to nearest, ties to even.
template <typename T>
__host__ __device__ T from_float(float value);
template <>
__host__ __device__ inline BFloat16 from_float<BFloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__host__ __device__ inline Half from_float<Half>(float value) {
  return __float2half_rn(value);
}
template <>
__host__ __device__ inline float from_float<float>(float value) {
  return value;
}
/// Memory keeps all bits of an fp32; the tensor core drops the lower ones.
template <>
__host__ __device__ inline Tf32 from_float<Tf32>(float value) {
  return {value};
}

/// Elements of T in 16 bytes; channel pitches are multiples of it.
template <typename T>
constexpr int kVectorSize = simt::Vector16<T>::kSize;

template <typename Integer>
__host__ __device__ constexpr Integer divide_up(Integer value, Integer by) {
  return (value + by - 1) / by;
}
template <typename Integer>
__host__ __device__ constexpr Integer round_up(Integer value, Integer to) {
  return divide_up(value, to) * to;
}

}  // namespace trireme::kernels
