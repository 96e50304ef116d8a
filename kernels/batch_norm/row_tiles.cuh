// SPDX-License-Identifier: Apache-2.0
// How the passes over an activation are cut. A block has up to 32 neighbouring vectors of channels (its
// columns) and walks down a tile of rows; its threads are `lanes` rows of `columns` vectors, so that a warp
// reads whole sectors and a thread keeps its channels, and what it knows of them, in registers:
//
//              columns
//            +---------+
//   lane 0   | t0 .. t7|   row r          each thread: rows r + lane, r + lane + lanes, ...
//   lane 1   | t8 ..   |   row r + 1
#pragma once

#include <cstdint>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/vectors.cuh"

namespace trireme::kernels {

constexpr int kTileThreads = 256;
constexpr int kMostColumns = 32;

/// The cut as a kernel sees it: gridDim.x tiles of columns, gridDim.y tiles of rows.
struct RowTiles {
  std::int64_t rows, rows_per_tile;
  int channels, pitch;
  int columns_log2;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit) const {}

  __host__ __device__ int columns() const { return 1 << columns_log2; }
  __host__ __device__ int lanes() const { return kTileThreads >> columns_log2; }
  std::int64_t tiles() const { return divide_up(rows, rows_per_tile); }
  int column_tiles(int vector) const { return divide_up(pitch / vector, columns()); }
  dim3 grid(int vector) const {
    return {static_cast<unsigned>(column_tiles(vector)), static_cast<unsigned>(tiles()), 1};
  }
};

/// About `blocks` blocks, of at least `rows_per_lane` rows for each thread where there are that many.
inline RowTiles make_row_tiles(std::int64_t rows, int channels, int pitch, int vector, std::int64_t blocks,
                               std::int64_t rows_per_lane) {
  RowTiles tiles{rows, 0, channels, pitch, 0};
  while (tiles.columns() < kMostColumns && tiles.columns() < pitch / vector) ++tiles.columns_log2;
  const std::int64_t wanted = divide_up<std::int64_t>(blocks, tiles.column_tiles(vector));
  const std::int64_t least = rows_per_lane * tiles.lanes();
  tiles.rows_per_tile = round_up<std::int64_t>(divide_up(rows, wanted), tiles.lanes());
  if (tiles.rows_per_tile < least) tiles.rows_per_tile = least;
  return tiles;
}

/// The cut of reductions: some blocks for each multiprocessor of a large GPU. The number is a constant, so
/// that results do not depend on the GPU.
template <typename T>
RowTiles reduction_tiles(const BatchNormShape& shape) {
  return make_row_tiles(shape.rows, shape.channels, shape.pitch, kVectorSize<T>, 512, 16);
}
/// The cut of passes that write: more and smaller blocks, so that the last ones to run are short.
template <typename T>
RowTiles apply_tiles(const BatchNormShape& shape) {
  return make_row_tiles(shape.rows, shape.channels, shape.pitch, kVectorSize<T>, 4096, 8);
}

/// One thread's place in it.
struct RowWalk {
  int lane;     ///< row of threads
  int channel;  ///< first one of the thread's vector
  bool is_inside;
  std::int64_t begin, end, stride;  ///< rows of the thread

  template <int Vector>
  static __device__ __forceinline__ RowWalk of(const RowTiles& tiles) {
    RowWalk walk;
    const int thread = static_cast<int>(threadIdx.x);
    walk.lane = thread >> tiles.columns_log2;
    const int column = static_cast<int>(blockIdx.x) * tiles.columns() + (thread & (tiles.columns() - 1));
    walk.channel = column * Vector;
    walk.is_inside = walk.channel < tiles.pitch;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * tiles.rows_per_tile;
    walk.begin = first + walk.lane;
    walk.end = first + tiles.rows_per_tile < tiles.rows ? first + tiles.rows_per_tile : tiles.rows;
    if (!walk.is_inside) walk.begin = walk.end;
    walk.stride = tiles.lanes();
    return walk;
  }
};

/// Gives every thread Count numbers for each of its channels. compute(channel, numbers) is called once for
/// each channel of the block, neighbouring threads for neighbouring channels, some of them beyond the pitch.
template <int Count, int Vector, typename Compute>
__device__ __forceinline__ void share_by_channel(float (&own)[Count][Vector], const RowTiles& tiles,
                                                 const Compute& compute) {
  constexpr int kWidth = kMostColumns * Vector;
  static_assert(kWidth <= kTileThreads, "a thread for each channel of the block");
  SIMT_SHARED(simt::Vector16<float>, shared, Count * kWidth / 4);
  const int thread = static_cast<int>(threadIdx.x), width = tiles.columns() * Vector;
  if (thread < width) {
    float numbers[Count];
    compute(static_cast<int>(blockIdx.x) * width + thread, numbers);
    SIMT_UNROLL
    for (int i = 0; i < Count; ++i) shared[(i * kWidth + thread) / 4][thread % 4] = numbers[i];
  }
  __syncthreads();
  const int column = thread & (tiles.columns() - 1);
  SIMT_UNROLL
  for (int i = 0; i < Count; ++i) SIMT_UNROLL
  for (int part = 0; part < Vector; part += 4) {
    const simt::Vector16<float> four = shared[(i * kWidth + column * Vector + part) / 4];
    SIMT_UNROLL
    for (int v = 0; v < 4; ++v) own[i][part + v] = four[v];
  }
}

/// Folds the lanes of each column into lane 0: halves the number of lanes until one is left, always in the
/// same order. `values` are Count numbers of each thread; combine(own, other's) changes the own.
template <int Count, typename Combine>
__device__ __forceinline__ void fold_lanes(float (&values)[Count], const RowTiles& tiles, int lane,
                                           const Combine& combine) {
  SIMT_SHARED(float, others, Count* kTileThreads);
  const int thread = static_cast<int>(threadIdx.x);
  for (int half = tiles.lanes() / 2; half > 0; half /= 2) {
    if (lane >= half && lane < 2 * half) {
      SIMT_UNROLL
      for (int i = 0; i < Count; ++i) others[i * kTileThreads + thread] = values[i];
    }
    __syncthreads();
    if (lane < half) {
      float other[Count];
      SIMT_UNROLL
      for (int i = 0; i < Count; ++i)
        other[i] = others[i * kTileThreads + thread + (half << tiles.columns_log2)];
      combine(values, other);
    }
    __syncthreads();
  }
}

}  // namespace trireme::kernels
