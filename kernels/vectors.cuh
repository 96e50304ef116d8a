// SPDX-License-Identifier: Apache-2.0
// Vectors of elements, those of 16 bytes as fp32 numbers, and what is done to each number.
#pragma once

#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

template <typename T>
__device__ __forceinline__ void unpack(float (&to)[kVectorSize<T>], const simt::Vector16<T>& from) {
  SIMT_UNROLL
  for (int i = 0; i < kVectorSize<T>; ++i) to[i] = to_float(from[i]);
}

template <typename T>
__device__ __forceinline__ simt::Vector16<T> pack(const float (&from)[kVectorSize<T>]) {
  simt::Vector16<T> to;
  SIMT_UNROLL
  for (int i = 0; i < kVectorSize<T>; ++i) to[i] = from_float<T>(from[i]);
  return to;
}

/// Four elements in one access.
template <typename T>
struct alignas(4 * sizeof(T)) FourElements {
  T values[4];
};

/// max(value, 0); NaN stays NaN.
__device__ __forceinline__ float relu(float value) {
  return value < 0 ? 0.0F : value;
}

/// Channels [c, c + Count) of an unpadded, 16-byte aligned array; 0 from `channels` on. c is a multiple of 4.
template <int Count>
__device__ __forceinline__ void load_channels(float (&to)[Count], const float* from, int c, int channels) {
  static_assert(Count % 4 == 0, "whole 16-byte vectors");
  SIMT_UNROLL
  for (int part = 0; part < Count; part += 4) {
    if (c + part + 4 <= channels) {
      const simt::Vector16<float> four = simt::load16(from + c + part);
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) to[part + i] = four[i];
    } else {
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i)
        to[part + i] = c + part + i < channels ? simt::load(from + c + part + i) : 0.0F;
    }
  }
}

/// The way back into a padded array.
template <int Count>
__device__ __forceinline__ void store_channels(float* to, const float (&from)[Count]) {
  SIMT_UNROLL
  for (int part = 0; part < Count; part += 4)
    simt::store16(to + part,
                  simt::Vector16<float>{{from[part], from[part + 1], from[part + 2], from[part + 3]}});
}

}  // namespace trireme::kernels
