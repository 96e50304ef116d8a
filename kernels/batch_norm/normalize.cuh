// SPDX-License-Identifier: Apache-2.0
// The forward formula, once for forward and for the backward that computes the sign of its result again.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/row_tiles.cuh"

namespace trireme::kernels {

/// BatchNormFactors as a kernel argument.
struct FactorPointers {
  explicit FactorPointers(const BatchNormFactors& factors)
      : scale(factors.scale),
        shift(factors.shift),
        mean(factors.mean),
        spread(factors.spread),
        epsilon(factors.epsilon) {}

  const float *scale, *shift, *mean, *spread;
  float epsilon;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(scale), visit(shift), visit(mean), visit(spread);
  }
};

/// What a channel's numbers are in arrays of them.
enum ChannelNumber { kMean, kFactor, kShift, kOffset, kSlope };

/// y = factor (x - mean) + shift. All zero for a pad channel.
template <bool kFromVariance>
__device__ __forceinline__ void load_factors(float* numbers, const FactorPointers& from, int channel,
                                             int channels) {
  const bool is_pad = channel >= channels;
  const float spread = is_pad ? 0.0F : simt::load(from.spread + channel);
  const float inverse = kFromVariance ? 1.0F / sqrtf(spread + from.epsilon) : spread;
  numbers[kMean] = is_pad ? 0.0F : simt::load(from.mean + channel);
  numbers[kFactor] = is_pad ? 0.0F : simt::load(from.scale + channel) * inverse;
  numbers[kShift] = is_pad ? 0.0F : simt::load(from.shift + channel);
}

/// A thread's channels: mean, factor and shift, and what else a pass needs.
template <int Vector, int Count = 3>
struct ChannelFactors {
  float numbers[Count][Vector];

  __device__ __forceinline__ float normalize(int v, float x) const {
    return fmaf(x - numbers[kMean][v], numbers[kFactor][v], numbers[kShift][v]);
  }
};

}  // namespace trireme::kernels
