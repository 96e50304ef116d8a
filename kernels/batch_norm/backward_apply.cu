// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/gradient.cuh"

namespace trireme::kernels {
namespace {

constexpr int kRowsAtOnce = 2;  // of two inputs

/// A thread's channels of dx = factor (g - offset - slope (x - mean)).
template <typename T, bool kRecompute>
struct GradientFactors {
  static constexpr int kVector = kVectorSize<T>;

  ChannelFactors<kVector> forward;
  float offset[kVector], slope[kVector];

  __device__ __forceinline__ void load(const FactorPointers& pointers, const float* coefficients, int channel,
                                       const RowTiles& tiles) {
    forward.template load<false>(pointers, channel, tiles.channels);
    load_channels(offset, coefficients, channel, tiles.pitch);
    load_channels(slope, coefficients + tiles.pitch, channel, tiles.pitch);
  }

  __device__ __forceinline__ float gradient(int v, float x, float dy) const {
    if constexpr (kRecompute)
      if (!is_positive_as_stored<T>(forward.normalize(v, x))) dy = 0;
    return forward.factor[v] * fmaf(-slope[v], x - forward.mean[v], dy - offset[v]);
  }
};

template <typename T, bool kRecompute>
__global__ void __launch_bounds__(kTileThreads)
    batch_norm_backward_apply_tiled_kernel(T* dx, const T* x, const T* dy, const float* coefficients,
                                           FactorPointers pointers, RowTiles tiles) {
  constexpr int kVector = kVectorSize<T>;
  const RowWalk walk = RowWalk::of<kVector>(tiles);
  if (walk.begin >= walk.end) return;
  GradientFactors<T, kRecompute> factors;
  factors.load(pointers, coefficients, walk.channel, tiles);

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
        values[v] = factors.gradient(v, to_float(inputs[i][v]), to_float(gradients[i][v]));
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
