// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy: loss, gradient and the label's rank in one pass over the logits.
//
// With z the logits of a row, l its label, C classes, smoothing s and class weights w (all one where none are
// given), the loss is PyTorch's for label smoothing with weights:
//   t_j  = (1-s) [j = l] + s/C
//   loss = -sum_j w_j t_j log softmax(z)_j
//   dz_j = scale * (W softmax(z)_j - w_j t_j),   W = sum_j w_j t_j,   scale = gradient_scale * loss_scale
// Normalisation differs: PyTorch divides the sum over a batch by the sum of the labels' weights; here every
// row is multiplied by StepValues::gradient_scale, 1 / samples of the global step, whatever the weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"
#include "kernels/step_values.h"

namespace trireme::kernels {

struct SoftmaxCrossEntropyShape {
  std::int64_t batch = 0;
  int classes = 0;
  int pitch = 0;  ///< elements from a row to the next: at least `classes`, a multiple of 16 bytes

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit /*visit*/) const {}
};

/// Sums over the samples seen since the record was zeroed; lives on the device. The same memory as the device
/// interface's StepRecord.
struct LossRecord {
  double loss_sum = 0;
  std::int64_t loss_fixed =
      0;  ///< sum of llrint(loss 2^24); a loss that is NaN or beyond 2^16 counts as 2^16
  std::int64_t samples = 0;
  std::int64_t top1 = 0, top5 = 0;
};

/// What the pass reads and writes, all device memory. Rows from StepValues::valid_samples on are padding:
/// loss 0, gradient 0, not counted.
template <typename T>
struct SoftmaxCrossEntropyBuffers {
  const T* logits = nullptr;             ///< [batch, pitch]
  const std::int32_t* labels = nullptr;  ///< [batch]
  const float* class_weights = nullptr;  ///< [classes], 16-byte aligned; null: all one
  const StepValues* step = nullptr;      ///< valid_samples, gradient_scale, loss_scale
  float* losses = nullptr;               ///< [batch], written
  T* gradient = nullptr;                 ///< [batch, pitch], written, zero in pad columns; null: inference
  LossRecord* record = nullptr;          ///< added to
  void* workspace = nullptr;             ///< softmax_cross_entropy_workspace_bytes(batch)
};

std::size_t softmax_cross_entropy_workspace_bytes(std::int64_t batch);

/// Arithmetic is fp32 with the row's largest logit subtracted; sums of the record are float64 in the order of
/// rows. A label that is no class, and a row with NaN, give loss and gradient NaN and are never correct; ties
/// go to the lowest class. Rows up to 96 KiB are read from memory once, longer ones three times.
template <typename T>
void softmax_cross_entropy(const SoftmaxCrossEntropyShape& shape, float label_smoothing,
                           const SoftmaxCrossEntropyBuffers<T>& buffers, cudaStream_t stream);

/// Adds to *count the rows below valid_samples whose label is among the k largest logits, 1 <= k <= 32, by
/// the same rules as the record's top1 and top5.
template <typename T>
void top_k_count(const SoftmaxCrossEntropyShape& shape, int k, const T* logits, const std::int32_t* labels,
                 const StepValues* step, std::int64_t* count, cudaStream_t stream);

}  // namespace trireme::kernels
