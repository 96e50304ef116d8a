// SPDX-License-Identifier: Apache-2.0
// The forward formula, once for forward and for the backward that computes the sign of its result again.
#pragma once

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/vectors.cuh"

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

/// A thread's channels: y = factor (x - mean) + shift. Zeros in pad channels.
template <int Vector>
struct ChannelFactors {
  float mean[Vector], factor[Vector], shift[Vector];

  template <bool kFromVariance>
  __device__ __forceinline__ void load(const FactorPointers& from, int channel, int channels) {
    float spread[Vector];
    load_channels(mean, from.mean, channel, channels);
    load_channels(factor, from.scale, channel, channels);
    load_channels(shift, from.shift, channel, channels);
    load_channels(spread, from.spread, channel, channels);
    SIMT_UNROLL
    for (int v = 0; v < Vector; ++v)
      factor[v] *= kFromVariance ? (channel + v < channels ? 1.0F / sqrtf(spread[v] + from.epsilon) : 0.0F)
                                 : spread[v];
  }

  __device__ __forceinline__ float normalize(int v, float x) const {
    return fmaf(x - mean[v], factor[v], shift[v]);
  }
};

}  // namespace trireme::kernels
