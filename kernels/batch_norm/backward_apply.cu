// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/gradient.cuh"

namespace trireme::kernels {
namespace {

constexpr int kRowsAtOnce = 2;  // of two inputs

/// dx = factor (g - offset - slope (x - mean)) for one element.
template <typename T, bool kRecompute>
__device__ __forceinline__ float input_gradient(const ChannelFactors<kVectorSize<T>, 5>& factors, int v,
                                                float x, float dy) {
  if constexpr (kRecompute)
    if (!is_positive_as_stored<T>(factors.normalize(v, x))) dy = 0;
  const float(&numbers)[5][kVectorSize<T>] = factors.numbers;
  return numbers[kFactor][v] * fmaf(-numbers[kSlope][v], x - numbers[kMean][v], dy - numbers[kOffset][v]);
}

template <typename T, bool kRecompute>
__global__ void __launch_bounds__(kTileThreads)
    batch_norm_backward_apply_tiled_kernel(T* dx, const T* x, const T* dy, const float* coefficients,
                                           FactorPointers pointers, RowTiles tiles) {
  constexpr int kVector = kVectorSize<T>;
  const RowWalk walk = RowWalk::of<kVector>(tiles);
  ChannelFactors<kVector, 5> factors;
  share_by_channel(factors.numbers, tiles, [&](int channel, float* numbers) {
    load_factors<false>(numbers, pointers, channel, tiles.channels);
    const bool is_outside = channel >= tiles.pitch;
    numbers[kOffset] = is_outside ? 0.0F : simt::load(coefficients + channel);
    numbers[kSlope] = is_outside ? 0.0F : simt::load(coefficients + tiles.pitch + channel);
  });

  for (std::int64_t row = walk.begin; row < walk.end; row += kRowsAtOnce * walk.stride) {
    simt::Vector16<T> inputs[kRowsAtOnce], gradients[kRowsAtOnce];
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * walk.stride >= walk.end) break;
      const std::int64_t at = (row + i * walk.stride) * tiles.pitch + walk.channel;
      inputs[i] = simt::load16(x + at);
      gradients[i] = simt::load16(dy + at);
    }
    SIMT_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i * walk.stride >= walk.end) break;
      float values[kVector];
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v)
        values[v] =
            input_gradient<T, kRecompute>(factors, v, to_float(inputs[i][v]), to_float(gradients[i][v]));
      simt::store16(dx + (row + i * walk.stride) * tiles.pitch + walk.channel, pack<T>(values));
    }
  }
}

}  // namespace

template <typename T>
void batch_norm_backward_apply(T* dx, const BatchNormGradientInputs<T>& inputs, const float* coefficients,
                               const BatchNormShape& shape, cudaStream_t stream) {
  check_shape<T>(shape);
  const RowTiles tiles = apply_tiles<T>(shape);
  const T* gradient = inputs.mask == ReluMask::stored ? inputs.masked_dy : inputs.dy;
  const auto batch_norm_backward_apply = inputs.mask == ReluMask::recomputed
                                             ? batch_norm_backward_apply_tiled_kernel<T, true>
                                             : batch_norm_backward_apply_tiled_kernel<T, false>;
  SIMT_LAUNCH(batch_norm_backward_apply, tiles.grid(kVectorSize<T>), kTileThreads, 0, stream, dx, inputs.x,
              gradient, coefficients, FactorPointers(inputs.factors), tiles);
}

#define TRIREME_INSTANTIATE(T)                                                                    \
  template void batch_norm_backward_apply<T>(T*, const BatchNormGradientInputs<T>&, const float*, \
                                             const BatchNormShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
