// SPDX-License-Identifier: Apache-2.0
// Optimizer steps over a range of the flat fp32 buffers, one launch each. Every element's result depends on
// its own inputs only, so any cutting into ranges gives the same bits. Gaps between segments are neither read
// nor written. A step whose UpdateFactors say skip writes nothing.
#pragma once

#include "kernels/optimizer/segments.h"
#include "kernels/optimizer/update_factors.h"

namespace trireme::kernels {

/// Flat buffers, 16-byte aligned, in device memory.
struct UpdateBuffers {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;         ///< momentum; AdamW: mean of gradients
  float* second = nullptr;        ///< AdamW: mean of squared gradients
  const float* ratios = nullptr;  ///< [segments], of lars_ratios; null: all one
  const UpdateFactors* factors = nullptr;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(parameters);
    visit(gradients);
    visit(first);
    visit(second);
    visit(ratios);
    visit(factors);
  }
};

struct SgdOptions {
  float momentum = 0.9F;
  bool nesterov = false;
  float weight_decay = 5e-4F;
  float norm_momentum = 0.1F;  ///< share of the batch in BN running statistics
};

/// For a parameter p with gradient g, momentum u, decay w (0 where exempt), gradient factor f and ratio r:
///   d = r (f g + w p);  v = u v + d;  p = p - rate (nesterov ? d + u v : v)
/// and for a statistic, with m = norm_momentum: p = (1 - m) p + m g. All operations are rounded to fp32 one
/// by one; with r = 1 the bits are those of the host's optimizer.
void sgd_step(const SegmentTable& segments, const SegmentRange& range, const UpdateBuffers& buffers,
              const SgdOptions& options, cudaStream_t stream);

struct AdamWOptions {
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  float weight_decay = 0.01F;  ///< decoupled: not part of the gradient
  float norm_momentum = 0.1F;
};

/// Loshchilov and Hutter 2019, in PyTorch's form, with the corrections c1 and c2 of UpdateFactors:
///   g = f gradient;  p = (1 - rate w) p;  a = beta1 a + (1 - beta1) g;  b = beta2 b + (1 - beta2) g g
///   p = p - rate c1 a / (sqrt(b) c2 + epsilon)
/// Statistics as in sgd_step; `ratios` must be null.
void adamw_step(const SegmentTable& segments, const SegmentRange& range, const UpdateBuffers& buffers,
                const AdamWOptions& options, cudaStream_t stream);

}  // namespace trireme::kernels
