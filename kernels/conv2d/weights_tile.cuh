// SPDX-License-Identifier: Apache-2.0
// Stores a tile of the gradient for the weights: rows are output channels, columns the packed (kernel row,
// kernel column, channel), of which the pads are dropped.
#pragma once

#include "kernels/fast_divide.h"
#include "kernels/gemm/main_loop.cuh"

namespace trireme::kernels {

struct WeightsGradient {
  float* data;  ///< [rows][taps_h][taps_w][channels]
  int rows;
  FastDivide packed_row, pitch;  ///< elements of a kernel row and of a tap as packed
  int taps_h, taps_w, channels;
  bool accumulate;
};

/// Where a packed column is in an unpadded row, or -1.
__device__ inline int unpadded_place(const WeightsGradient& g, int column) {
  int rest, channel;
  const int tap_h = g.packed_row.divide(column, rest);
  const int tap_w = g.pitch.divide(rest, channel);
  if (tap_h >= g.taps_h || tap_w >= g.taps_w || channel >= g.channels) return -1;
  return (tap_h * g.taps_w + tap_w) * g.channels + channel;
}

template <typename Value>
__device__ __forceinline__ void write_or_add(float* to, Value value, bool accumulate) {
  auto* words = reinterpret_cast<Value*>(to);
  if constexpr (std::is_same_v<Value, float2>) {
    if (accumulate) {
      const float2 before = simt::load(words);
      value = {before.x + value.x, before.y + value.y};
    }
  } else if (accumulate) {
    value += simt::load(words);
  }
  simt::store(words, value);
}

/// Four lanes of a quad hold 8 neighbouring columns: a whole sector, without a detour through shared memory.
/// An even number of channels keeps both columns of a lane in one tap, and 8-byte aligned.
template <typename Tile>
__device__ __forceinline__ void store_weights_tile(const WeightsGradient& g, const Accumulators<Tile>& sums,
                                                   int first_row, int first_column) {
  const int row = first_row + Tile::warp_row() + simt::lane_id() / 4;
  const int column = first_column + Tile::warp_column() + simt::lane_id() % 4 * 2;
  const std::int64_t row_size = static_cast<std::int64_t>(g.taps_h) * g.taps_w * g.channels;
  const bool pairs = g.channels % 2 == 0;
  SIMT_UNROLL
  for (int j = 0; j < Tile::kMmaColumns; ++j) {
    const int place = unpadded_place(g, column + 8 * j);
    const int second_place = pairs ? -1 : unpadded_place(g, column + 8 * j + 1);
    SIMT_UNROLL
    for (int i = 0; i < 2 * Tile::kMmaRows; ++i) {
      if (row + 8 * i >= g.rows) continue;
      float* to = g.data + (row + 8 * i) * row_size;
      const float first = sums[i / 2][j][i % 2 * 2], second = sums[i / 2][j][i % 2 * 2 + 1];
      if (pairs) {
        if (place >= 0) write_or_add(to + place, float2{first, second}, g.accumulate);
      } else {
        if (place >= 0) write_or_add(to + place, first, g.accumulate);
        if (second_place >= 0) write_or_add(to + second_place, second, g.accumulate);
      }
    }
  }
}

/// The gradient of a bias, which is the sum of dy over pixels: dy's tiles are in shared memory anyway. A
/// thread sums the chunks that it has copied: 16 bytes of channels, every kStep-th pixel.
template <typename T, typename Tile>
class BiasSums {
 public:
  __device__ void add(const unsigned char* tile) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const auto values = *reinterpret_cast<const simt::Vector16<T>*>(Map::source(tile, i));
      SIMT_UNROLL
      for (int j = 0; j < kVectorSize<T>; ++j) sums_[j] += to_float(values.values[j]);
    }
  }

  /// Adds the threads' sums in order, for channels first ... below `end`. `shared` holds Tile::kSharedBytes.
  __device__ void store(float* to, unsigned char* shared, int first, int end, bool accumulate) const {
    float* groups = reinterpret_cast<float*>(shared);
    static_assert(Map::kStep * Tile::kM * sizeof(float) <= Tile::kSharedBytes, "they fit over the tiles");
    __syncthreads();
    SIMT_UNROLL
    for (int j = 0; j < kVectorSize<T>; ++j)
      groups[Map::row(0) * Tile::kM + Map::column() * kVectorSize<T> + j] = sums_[j];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < Tile::kM && first + i < end; i += Tile::kThreads) {
      float sum = 0;
      for (int group = 0; group < Map::kStep; ++group) sum += groups[group * Tile::kM + i];
      write_or_add(to + first + i, sum, accumulate);
    }
  }

 private:
  using Map = CopyMap<SharedTile<T, Major::mn, Tile::kM>, Tile::kThreads>;

  float sums_[kVectorSize<T>] = {};
};

}  // namespace trireme::kernels
