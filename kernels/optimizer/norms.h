// SPDX-License-Identifier: Apache-2.0
// Sums over the flat buffers, all in float64 and in a fixed order: norms for clipping and LARS, and whether a
// gradient is finite.
#pragma once

#include <cstddef>

#include "kernels/optimizer/segments.h"
#include "kernels/optimizer/update_factors.h"

namespace trireme::kernels {

std::size_t squared_norms_workspace_bytes(const HostSegments& segments);

/// per_segment[s] = sum of squares of the segment's values, 0 for statistics; *total = their sum (null: not
/// wanted). Gaps count nothing. `values` is a whole flat buffer, 16-byte aligned.
void squared_norms(const SegmentTable& segments, const float* values, double* per_segment, double* total,
                   void* workspace, cudaStream_t stream);

struct LarsOptions {
  double trust = 0.001;        ///< eta of the paper
  double weight_decay = 5e-4;  ///< as in SgdOptions
  double epsilon = 1e-9;
};

/// You, Gitman and Ginsburg 2017, "Large batch training of convolutional networks". For decayed segments,
/// with f the gradient factor of UpdateFactors,
///   ratios[s] = trust |p| / (f |g| + weight_decay |p| + epsilon), 1 where |p| or |g| is 0
/// and 1 for all others. The squared norms are per segment, as from squared_norms.
void lars_ratios(const SegmentTable& segments, const double* squared_parameters,
                 const double* squared_gradients, const UpdateFactors* factors, const LarsOptions& options,
                 float* ratios, cudaStream_t stream);

/// Sets *not_finite to 1 if any of `count` values is infinite or NaN; else leaves it alone. `values` may
/// begin anywhere in a float buffer.
void check_finite(const float* values, std::int64_t count, std::int32_t* not_finite, cudaStream_t stream);

}  // namespace trireme::kernels
