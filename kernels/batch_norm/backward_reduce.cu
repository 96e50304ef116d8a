// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/gradient.cuh"

namespace trireme::kernels {
namespace {

constexpr int kRowsAtOnce = 2;  // of two inputs

/// One row of a thread as it is in memory.
template <typename T>
struct GradientRow {
  simt::Vector16<T> x, dy;
  std::uint8_t signs;
};

/// g of one row; with a stored mask it goes to memory, rounded as dy is: it is one of its values.
template <typename T, ReluMask kMask>
__device__ __forceinline__ void masked_gradient(float (&gradient)[kVectorSize<T>], const GradientRow<T>& row,
                                                const ChannelFactors<kVectorSize<T>>& factors) {
  SIMT_UNROLL
  for (int v = 0; v < kVectorSize<T>; ++v) {
    bool passes = true;
    if constexpr (kMask == ReluMask::recomputed)
      passes = is_positive_as_stored<T>(factors.normalize(v, to_float(row.x[v])));
    if constexpr (kMask == ReluMask::stored) passes = (row.signs >> v & 1) != 0;
    gradient[v] = passes ? to_float(row.dy[v]) : 0.0F;
  }
}

/// Adds up g and g (x - mean) over a thread's rows.
template <typename T, ReluMask kMask>
__device__ __forceinline__ void add_gradient_rows(float (&sums)[2 * kVectorSize<T>],
                                                  const GradientPointers<T>& from,
                                                  const ChannelFactors<kVectorSize<T>>& factors,
                                                  const RowWalk& walk, int pitch) {
  constexpr int kVector = kVectorSize<T>;
  for (std::int64_t first = walk.begin; first < walk.end; first += kRowsAtOnce * walk.stride) {
    GradientRow<T> rows[kRowsAtOnce];
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (first + i * walk.stride >= walk.end) break;
      const std::int64_t at = (first + i * walk.stride) * pitch + walk.channel;
      rows[i].x = simt::load16(from.x + at);
      rows[i].dy = simt::load16(from.dy + at);
      if constexpr (kMask == ReluMask::stored) rows[i].signs = simt::load(from.signs + at / kVector);
    }
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (first + i * walk.stride >= walk.end) break;
      float gradient[kVector];
      masked_gradient<T, kMask>(gradient, rows[i], factors);
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v) {
        sums[v] += gradient[v];
        sums[kVector + v] =
            fmaf(gradient[v], to_float(rows[i].x[v]) - factors.numbers[kMean][v], sums[kVector + v]);
      }
      if constexpr (kMask == ReluMask::stored)
        simt::store16(from.masked_dy + (first + i * walk.stride) * pitch + walk.channel, pack<T>(gradient));
    }
  }
}

template <typename T, ReluMask kMask>
__global__ void __launch_bounds__(kTileThreads)
    batch_norm_backward_reduce_tiled_kernel(float* tile_sums, GradientPointers<T> from, RowTiles tiles) {
  constexpr int kVector = kVectorSize<T>;
  const RowWalk walk = RowWalk::of<kVector>(tiles);
  float sums[2 * kVector] = {};
  ChannelFactors<kVector> factors;
  share_by_channel(factors.numbers, tiles, [&](int channel, float* numbers) {
    load_factors<false>(numbers, from.factors, channel, tiles.channels);
  });
  add_gradient_rows<T, kMask>(sums, from, factors, walk, tiles.pitch);
  fold_lanes(sums, tiles, walk.lane, [](float(&own)[2 * kVector], const float(&other)[2 * kVector]) {
    SIMT_UNROLL
    for (int v = 0; v < 2 * kVector; ++v) own[v] += other[v];
  });

  if (walk.lane != 0 || !walk.is_inside) return;
  float* tile = tile_sums + static_cast<std::int64_t>(blockIdx.y) * 2 * tiles.pitch + walk.channel;
  float part[kVector];
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) part[v] = sums[v];
  store_channels(tile, part);
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) part[v] = sums[kVector + v];
  store_channels(tile + tiles.pitch, part);
}

}  // namespace

template <typename T>
void batch_norm_backward_reduce(float* sums, const BatchNormGradientInputs<T>& inputs,
                                const BatchNormShape& shape, cudaStream_t stream) {
  check_shape<T>(shape);
  const RowTiles tiles = reduction_tiles<T>(shape);
  const auto batch_norm_backward_reduce =
      inputs.mask == ReluMask::none         ? batch_norm_backward_reduce_tiled_kernel<T, ReluMask::none>
      : inputs.mask == ReluMask::recomputed ? batch_norm_backward_reduce_tiled_kernel<T, ReluMask::recomputed>
                                            : batch_norm_backward_reduce_tiled_kernel<T, ReluMask::stored>;
  SIMT_LAUNCH(batch_norm_backward_reduce, tiles.grid(kVectorSize<T>), kTileThreads, 0, stream, sums,
              GradientPointers<T>(inputs), tiles);
}

#define TRIREME_INSTANTIATE(T)                                                           \
  template void batch_norm_backward_reduce<T>(float*, const BatchNormGradientInputs<T>&, \
                                              const BatchNormShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
