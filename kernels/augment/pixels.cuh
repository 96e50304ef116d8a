// SPDX-License-Identifier: Apache-2.0
// The second pass of a band: along columns, then from levels to the net's numbers and to memory.
#pragma once

#include "kernels/augment/axis.cuh"
#include "kernels/vectors.cuh"

namespace trireme::kernels {

constexpr int kBandThreads = 256;
constexpr int kLevels = 256;

/// What the second pass reads.
struct Levels {
  const std::uint8_t* values;  ///< [rows, size, channels], from source row `begin` on
  int begin, size, channels, out_channels;
  Axis y;
  const float* table;
  bool flip, is_blank;
};

/// The net's numbers of output pixel (y, x) of the band; zeros in the pad channels, and everywhere if blank.
template <typename T>
__device__ __forceinline__ void make_pixel(const Levels& levels, int y, int x, T (&out)[4]) {
  SIMT_UNROLL
  for (T& value : out) value = from_float<T>(0.0F);
  if (levels.is_blank) return;
  const int column = levels.flip ? levels.size - 1 - x : x;
  const int row_bytes = levels.size * levels.channels, taps = levels.y.taps[y];
  const std::uint8_t* level =
      levels.values + (levels.y.first[y] - levels.begin) * row_bytes + column * levels.channels;
  int sums[3] = {kHalfLevel, kHalfLevel, kHalfLevel};
  for (int tap = 0; tap < taps; ++tap, level += row_bytes) {
    const int weight = levels.y.weights[y * levels.y.stride + tap];
    SIMT_UNROLL
    for (int c = 0; c < 3; ++c)
      if (c < levels.channels) sums[c] += level[c] * weight;
  }
  SIMT_UNROLL
  for (int c = 0; c < 3; ++c)
    if (c < levels.out_channels)
      out[c] = from_float<T>(levels.table[c * kLevels + to_level(levels.channels == 1 ? sums[0] : sums[c])]);
}

/// `count` pixels of whole rows to `out`, which is the band's first pixel.
template <typename T>
__device__ inline void write_pixels(const Levels& levels, int count, int pitch, T* out) {
  constexpr int kSize = kVectorSize<T>;
  const int size = levels.size;
  if (pitch % kSize == 0) {  // vectors of one pixel
    for (int pixel = static_cast<int>(threadIdx.x); pixel < count; pixel += kBandThreads) {
      T values[4];
      make_pixel(levels, pixel / size, pixel % size, values);
      simt::Vector16<T> vector;
      SIMT_UNROLL
      for (int i = 0; i < kSize; ++i) vector[i] = i < 4 ? values[i % 4] : from_float<T>(0.0F);
      simt::store16(out + static_cast<std::int64_t>(pixel) * pitch, vector);
      SIMT_UNROLL
      for (int i = 0; i < kSize; ++i) vector[i] = from_float<T>(0.0F);
      for (int c = kSize; c < pitch; c += kSize)
        simt::store16(out + static_cast<std::int64_t>(pixel) * pitch + c, vector);
    }
  } else if (size % 2 == 0) {  // 16-bit elements, pitch 4: two pixels in a vector
    for (int pair = static_cast<int>(threadIdx.x); pair < count / 2; pair += kBandThreads) {
      simt::Vector16<T> vector;
      SIMT_UNROLL
      for (int part = 0; part < 2; ++part) {
        const int pixel = 2 * pair + part;
        T values[4];
        make_pixel(levels, pixel / size, pixel % size, values);
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) vector[(4 * part + i) % kSize] = values[i];  // kSize is 8 here
      }
      simt::store16(out + static_cast<std::int64_t>(pair) * 8, vector);
    }
  } else {  // a band may begin in the middle of a vector
    for (int pixel = static_cast<int>(threadIdx.x); pixel < count; pixel += kBandThreads) {
      FourElements<T> four;
      make_pixel(levels, pixel / size, pixel % size, four.values);
      simt::store(reinterpret_cast<FourElements<T>*>(out) + pixel, four);
    }
  }
}

}  // namespace trireme::kernels
