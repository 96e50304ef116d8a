// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/normalize.cuh"
#include "kernels/batch_norm/row_tiles.cuh"
#include "kernels/batch_norm/signs.cuh"

namespace trireme::kernels {
namespace {

template <typename T, bool kResidual, bool kRelu, bool kFromVariance>
__global__ void __launch_bounds__(kTileThreads)
    batch_norm_apply_tiled_kernel(T* y, std::uint8_t* signs, const T* x, const T* residual,
                                  FactorPointers pointers, RowTiles tiles) {
  constexpr int kVector = kVectorSize<T>;
  constexpr int kRowsAtOnce = kResidual ? 2 : 4;
  const RowWalk walk = RowWalk::of<kVector>(tiles);
  ChannelFactors<kVector> factors;
  share_by_channel(factors.numbers, tiles, [&](int channel, float* numbers) {
    load_factors<kFromVariance>(numbers, pointers, channel, tiles.channels);
  });

  for (std::int64_t row = walk.begin; row < walk.end; row += kRowsAtOnce * walk.stride) {
    simt::Vector16<T> inputs[kRowsAtOnce], residuals[kRowsAtOnce];
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * walk.stride >= walk.end) break;
      const std::int64_t at = (row + i * walk.stride) * tiles.pitch + walk.channel;
      inputs[i] = simt::load16(x + at);
      if constexpr (kResidual) residuals[i] = simt::load16(residual + at);
    }
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * walk.stride >= walk.end) break;
      float values[kVector];
      unpack<T>(values, inputs[i]);
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v) {
        values[v] = factors.normalize(v, values[v]);
        if constexpr (kResidual) values[v] += to_float(residuals[i][v]);
        if constexpr (kRelu) values[v] = relu(values[v]);
      }
      const std::int64_t at = (row + i * walk.stride) * tiles.pitch + walk.channel;
      const simt::Vector16<T> stored = pack<T>(values);
      simt::store16(y + at, stored);
      if (kRelu && signs != nullptr) simt::store(signs + at / kVector, signs_of(stored));
    }
  }
}

template <typename T>
using ApplyKernel = void (*)(T*, std::uint8_t*, const T*, const T*, FactorPointers, RowTiles);

template <typename T, bool kResidual, bool kRelu>
ApplyKernel<T> choose(bool from_variance) {
  return from_variance ? batch_norm_apply_tiled_kernel<T, kResidual, kRelu, true>
                       : batch_norm_apply_tiled_kernel<T, kResidual, kRelu, false>;
}

}  // namespace

template <typename T>
void batch_norm_apply(T* y, const T* x, const T* residual, const BatchNormFactors& factors, bool relu,
                      const BatchNormShape& shape, cudaStream_t stream, std::uint8_t* signs) {
  check_shape<T>(shape);
  const RowTiles tiles = apply_tiles<T>(shape);
  const bool from_variance = factors.spread_is_variance;
  const ApplyKernel<T> batch_norm_apply_tiled_kernel =
      residual != nullptr
          ? (relu ? choose<T, true, true>(from_variance) : choose<T, true, false>(from_variance))
          : (relu ? choose<T, false, true>(from_variance) : choose<T, false, false>(from_variance));
  SIMT_LAUNCH(batch_norm_apply_tiled_kernel, tiles.grid(kVectorSize<T>), kTileThreads, 0, stream, y, signs, x,
              residual, FactorPointers(factors), tiles);
}

#define TRIREME_INSTANTIATE(T)                                                             \
  template void batch_norm_apply<T>(T*, const T*, const T*, const BatchNormFactors&, bool, \
                                    const BatchNormShape&, cudaStream_t, std::uint8_t*);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
