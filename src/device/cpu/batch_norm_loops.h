// SPDX-License-Identifier: Apache-2.0
// The loops of a batch norm whose statistics come from outside: sums by channel, and the passes that use
// them. Sums are float64, taken in an order that depends on the shape and the layout alone, so the bits are
// the same for any number of threads and on every CPU. Arrays by channel hold
// ChannelBlocks::padded_channels().
#pragma once

#include "src/device/cpu/channel_blocks.h"

namespace trireme::cpu {

/// Float64 values of scratch that channel_moments and gradient_moments need for their partial sums.
std::int64_t partial_sums(const ChannelBlocks& layout);

/// sums[0 .. channels) = sum of x, sums[channels .. 2 channels) = sum of x^2. A square of fp32 is exact in
/// float64; a variance made of these sums is right to about 1e-16 (mean / deviation)^2 of itself, much less
/// than what fp32 leaves of such numbers.
void channel_moments(const ChannelBlocks& layout, const float* x, double* partial, double* sums);

/// sums[0 .. channels) = sum of g, sums[channels .. 2 channels) = sum of g (x - mean), where g is dy, and 0
/// where the output of a ReLU is not positive; `relu_output` is null without ReLU.
void gradient_moments(const ChannelBlocks& layout, const float* x, const float* dy, const float* relu_output,
                      const float* mean, double* partial, double* sums);

/// By channel, padding zero.
struct NormFactors {
  const float *mean, *factor, *shift;
};
/// y = (x - mean) factor + shift, with ReLU at most 0 becomes 0. NaN stays NaN. y may be x.
void normalize(const ChannelBlocks& layout, float* y, const float* x, const NormFactors& by_channel,
               bool relu);

/// By channel, padding zero.
struct GradientFactors {
  const float *mean, *factor, *offset, *slope;
};
/// dx = factor (g - offset - slope (x - mean)) with g as above. dx may be dy.
void input_gradient(const ChannelBlocks& layout, float* dx, const float* dy, const float* x,
                    const float* relu_output, const GradientFactors& by_channel);

}  // namespace trireme::cpu
