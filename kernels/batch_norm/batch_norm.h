// SPDX-License-Identifier: Apache-2.0
// Batch normalisation over rows (the pixels of all pictures, NHWC with channel pitch), fused with residual
// addition and ReLU. Launches only: nothing here waits or allocates. T is BFloat16, Half or float; statistics
// and parameters are fp32.
//
// Training, forward:   batch_norm_statistics (or the epilogue of the convolution that made x)
//                      -> batch_norm_finish_statistics -> batch_norm_apply
// Training, backward:  batch_norm_backward_reduce -> batch_norm_backward_finish -> batch_norm_backward_apply
// Inference:           batch_norm_apply with the running statistics
// Over the batches of all ranks: see the functions with `sync` in their names.
//
// Arrays by channel are unpadded [channels], 16-byte aligned. Pad channels of activations are read as zeros
// and written as zeros. `rows` of training are at least 2: the variance of one value is refused with
// std::invalid_argument.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"
#include "kernels/step_values.h"
#include "kernels/tile_statistics.h"

namespace trireme::kernels {

struct BatchNormShape {
  std::int64_t rows;
  int channels, pitch;
};

/// Of TileStatistics::values.
std::size_t tile_statistics_bytes(std::int64_t tiles, int pitch);

/// What forward keeps for backward, [channels] each. `variance` is the biased one; null if not wanted.
struct BatchNormSaved {
  float *mean = nullptr, *inverse_deviation = nullptr, *variance = nullptr;
  double* count = nullptr;  ///< values in a channel over all ranks, one number; of the sync functions only
};

/// "Gradients" of the running statistics: share_weight times the batch's mean, and times its unbiased
/// variance; written, or added with `accumulate`. Null pointers: not wanted.
struct RunningGradients {
  float *mean = nullptr, *variance = nullptr;
  const StepValues* step = nullptr;
  bool accumulate = false;
};

// ---- forward ----

/// How batch_norm_statistics cuts the rows; a function of the shape alone.
template <typename T>
StatisticsTiles batch_norm_tiles(const BatchNormShape& shape);
/// One pass over x; writes tile_statistics_bytes(batch_norm_tiles(shape).tiles, pitch) of `tiles`.
template <typename T>
void batch_norm_statistics(float* tiles, const T* x, const BatchNormShape& shape, cudaStream_t stream);

/// Merges the tiles in fixed order by Chan's formula, in fp64.
std::size_t batch_norm_finish_workspace_bytes(std::int64_t tiles, int pitch);
void batch_norm_finish_statistics(const BatchNormSaved& saved, const RunningGradients& running,
                                  const TileStatistics& statistics, const BatchNormShape& shape,
                                  double epsilon, void* workspace, cudaStream_t stream);

/// What y is made with. `spread` is the inverse deviation as finish_statistics saved it, or the (running)
/// variance.
struct BatchNormFactors {
  const float *scale, *shift, *mean, *spread;
  bool spread_is_variance = false;
  float epsilon = 0;  ///< used with a variance only
};
/// y = scale (x - mean) / deviation + shift [+ residual] [then ReLU], rounded once. `residual` may be null; y
/// may be x or residual. With ReLU, `signs` [rows][pitch / kVectorSize<T>] gets a byte for each vector of y:
/// bit v says whether its element v, as stored, is positive; null: not wanted.
template <typename T>
void batch_norm_apply(T* y, const T* x, const T* residual, const BatchNormFactors& factors, bool relu,
                      const BatchNormShape& shape, cudaStream_t stream, std::uint8_t* signs = nullptr);

// ---- backward ----

/// How the ReLU behind the batch norm shows in backward. g is dy where y > 0, else 0.
enum class ReluMask {
  none,        ///< there was none: g = dy
  recomputed,  ///< no residual: y is computed again from x, to the bits that forward stored
  stored,  ///< the signs of y are read; g is stored, as the gradient of the residual, and read from then on
};

/// All that backward reads. `spread` is the saved inverse deviation.
template <typename T>
struct BatchNormGradientInputs {
  const T *x, *dy;
  const std::uint8_t* signs = nullptr;  ///< of ReluMask::stored: as batch_norm_apply wrote them
  T* masked_dy = nullptr;               ///< of ReluMask::stored: where g goes, may be dy
  BatchNormFactors factors;
  ReluMask mask = ReluMask::none;
};

/// Sums over tiles of rows, [tiles][2][pitch] fp32: sum g, then sum g (x - mean).
template <typename T>
std::size_t batch_norm_backward_sums_bytes(const BatchNormShape& shape);
template <typename T>
void batch_norm_backward_reduce(float* sums, const BatchNormGradientInputs<T>& inputs,
                                const BatchNormShape& shape, cudaStream_t stream);

/// Gradients of the parameters, written or added with `accumulate`, and of the running statistics where
/// wanted (in forward or here, not in both).
struct BatchNormParameterGradients {
  float *scale, *shift;
  RunningGradients running;
  bool accumulate = false;
};
/// Adds up the tiles in fixed order in fp64. `coefficients` [2][pitch] fp32 are for
/// batch_norm_backward_apply.
template <typename T>
void batch_norm_backward_finish(const BatchNormParameterGradients& gradients, float* coefficients,
                                const float* sums, const BatchNormSaved& saved, const BatchNormShape& shape,
                                cudaStream_t stream);

/// dx, written; may be dy, or masked_dy where nobody else needs that.
template <typename T>
void batch_norm_backward_apply(T* dx, const BatchNormGradientInputs<T>& inputs, const float* coefficients,
                               const BatchNormShape& shape, cudaStream_t stream);

// ---- over the batches of all ranks ----
//
// The sums are fp64 and become those of all ranks between two calls:
//   forward   [1 + 2 channels]: rows, sum x, sum x^2
//   backward  [2 channels]: sum g, sum g (x - mean)
// All ranks together need at least 2 rows; with fewer the statistics are NaN.

/// In place of batch_norm_finish_statistics, before the collective.
void batch_norm_sync_sums(double* group_sums, const TileStatistics& statistics, const BatchNormShape& shape,
                          void* workspace, cudaStream_t stream);
/// After it: all of `saved`, with count.
void batch_norm_sync_finish_statistics(const BatchNormSaved& saved, const RunningGradients& running,
                                       const double* group_sums, int channels, double epsilon,
                                       cudaStream_t stream);
/// In place of batch_norm_backward_finish, before the collective: the parameters' gradients are of this
/// rank's rows.
template <typename T>
void batch_norm_sync_backward_sums(const BatchNormParameterGradients& gradients, double* group_sums,
                                   const float* sums, const BatchNormSaved& saved,
                                   const BatchNormShape& shape, cudaStream_t stream);
/// After it.
void batch_norm_sync_coefficients(float* coefficients, const double* group_sums, const BatchNormSaved& saved,
                                  int channels, int pitch, cudaStream_t stream);

}  // namespace trireme::kernels
