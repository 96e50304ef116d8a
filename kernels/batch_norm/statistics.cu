// SPDX-License-Identifier: Apache-2.0
// Statistics of an input whose producer gave none: mean and M2 of each tile of rows, by channel.
//
// A thread sums d = x - x0 and d^2 over its rows, x0 being its own first value. Then mean = x0 + sum d / n
// and M2 = sum d^2 - (sum d)^2 / n. Both terms of M2 are at most n times M2 where x0 is the value farthest
// from the mean, so no more than the bits of n are lost, whatever the mean; x0 is a member of the sample, and
// n is some dozens. Pairs are then merged by Chan's formula: with delta = mean_b - mean_a and n = n_a + n_b
//   mean = mean_a + delta n_b / n,   M2 = M2_a + M2_b + delta^2 n_a n_b / n.
// Means are kept as distances from the tile's first row until the end: a mean rounded to fp32 is wrong by its
// size times 2^-24, which would be much for numbers far from zero that are close together.
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/row_tiles.cuh"

namespace trireme::kernels {
namespace {

constexpr int kRowsAtOnce = 4;  // loads in flight in one thread

template <int Vector>
struct Moments {
  float first[Vector], sum[Vector], square[Vector];
  int count;
};

template <typename T>
__device__ __forceinline__ void add_rows(Moments<kVectorSize<T>>& moments, const T* x, const RowWalk& walk,
                                         int pitch) {
  constexpr int kVector = kVectorSize<T>;
  for (std::int64_t row = walk.begin; row < walk.end; row += kRowsAtOnce * walk.stride) {
    simt::Vector16<T> vectors[kRowsAtOnce];
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i)
      if (row + i * walk.stride < walk.end)
        vectors[i] = simt::load16(x + (row + i * walk.stride) * pitch + walk.channel);
    if (row == walk.begin) unpack<T>(moments.first, vectors[0]);
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * walk.stride >= walk.end) break;
      float values[kVector];
      unpack<T>(values, vectors[i]);
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v) {
        const float distance = values[v] - moments.first[v];
        moments.sum[v] += distance;
        moments.square[v] = fmaf(distance, distance, moments.square[v]);
      }
      ++moments.count;
    }
  }
}

/// Gives the first values of lane 0, which has a row in every tile, to all lanes.
template <int Vector>
__device__ __forceinline__ void share_first_row(float (&origin)[Vector], const float (&first)[Vector],
                                                const RowTiles& tiles, int lane) {
  SIMT_SHARED(float, shared, Vector* kMostColumns);
  const int column = static_cast<int>(threadIdx.x) & (tiles.columns() - 1);
  if (lane == 0) {
    SIMT_UNROLL
    for (int v = 0; v < Vector; ++v) shared[v * kMostColumns + column] = first[v];
  }
  __syncthreads();
  SIMT_UNROLL
  for (int v = 0; v < Vector; ++v) origin[v] = shared[v * kMostColumns + column];
}

/// Numbers of a thread: Vector means (from the origin), Vector M2, the count.
template <int Vector>
__device__ __forceinline__ void merge(float (&own)[2 * Vector + 1], const float (&other)[2 * Vector + 1]) {
  const float other_count = other[2 * Vector], count = own[2 * Vector] + other_count;
  if (other_count == 0) return;
  const float share = other_count / count, weight = own[2 * Vector] * share;
  SIMT_UNROLL
  for (int v = 0; v < Vector; ++v) {
    const float delta = other[v] - own[v];
    own[v] = fmaf(delta, share, own[v]);
    own[Vector + v] += fmaf(delta * delta, weight, other[Vector + v]);
  }
  own[2 * Vector] = count;
}

template <typename T>
__global__ void __launch_bounds__(kTileThreads)
    batch_norm_statistics_tiled_kernel(float* tile_statistics, const T* x, RowTiles tiles) {
  constexpr int kVector = kVectorSize<T>;
  const RowWalk walk = RowWalk::of<kVector>(tiles);
  Moments<kVector> moments{};
  add_rows(moments, x, walk, tiles.pitch);

  float origin[kVector];
  share_first_row(origin, moments.first, tiles, walk.lane);
  float values[2 * kVector + 1];
  const auto count = static_cast<float>(moments.count);
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) {
    const float mean = moments.count > 0 ? moments.sum[v] / count : 0.0F;
    const float m2 = fmaf(-mean, moments.sum[v], moments.square[v]);
    values[v] = moments.count > 0 ? moments.first[v] - origin[v] + mean : 0.0F;
    values[kVector + v] = m2 < 0 ? 0.0F : m2;
  }
  values[2 * kVector] = count;
  fold_lanes(values, tiles, walk.lane, merge<kVector>);

  if (walk.lane != 0 || !walk.is_inside) return;
  float* tile = tile_statistics + static_cast<std::int64_t>(blockIdx.y) * 2 * tiles.pitch + walk.channel;
  float part[kVector];
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) part[v] = origin[v] + values[v];
  store_channels(tile, part);
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) part[v] = values[kVector + v];
  store_channels(tile + tiles.pitch, part);
}

}  // namespace

template <typename T>
StatisticsTiles batch_norm_tiles(const BatchNormShape& shape) {
  const RowTiles tiles = reduction_tiles<T>(shape);
  return {tiles.tiles(), tiles.rows_per_tile, tiles.rows};
}

template <typename T>
void batch_norm_statistics(float* tiles, const T* x, const BatchNormShape& shape, cudaStream_t stream) {
  check_shape<T>(shape);
  const RowTiles cut = reduction_tiles<T>(shape);
  SIMT_LAUNCH((batch_norm_statistics_tiled_kernel<T>), cut.grid(kVectorSize<T>), kTileThreads, 0, stream,
              tiles, x, cut);
}

#define TRIREME_INSTANTIATE(T)                                         \
  template StatisticsTiles batch_norm_tiles<T>(const BatchNormShape&); \
  template void batch_norm_statistics<T>(float*, const T*, const BatchNormShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
