// SPDX-License-Identifier: Apache-2.0
// What one step's update depends on besides gradients, worked out once on the device so that nothing of it
// passes through the host.
#pragma once

#include "kernels/step_values.h"

#include <cuda_runtime_api.h>

namespace trireme::kernels {

/// Lies in device memory; written by prepare_update, read by the steps that follow.
struct UpdateFactors {
  float learning_rate;
  float gradient;           ///< multiplies gradients of parameters: clipping and 1 / loss scale
  float first_correction;   ///< AdamW: 1 / (1 - beta1^t)
  float second_correction;  ///< AdamW: 1 / sqrt(1 - beta2^t)
  std::int32_t skip;        ///< 1: the gradients are not finite, nothing is updated
};

struct UpdateInputs {
  const StepValues* step = nullptr;          ///< learning_rate, inverse_loss_scale, step
  const double* squared_norm = nullptr;      ///< of the gradient as it lies in the buffer; null: no clipping
  const std::int32_t* not_finite = nullptr;  ///< as check_finite sets it; null: never skip
  double clip_norm = 0;                      ///< largest norm of the unscaled gradient, with `squared_norm`
  double beta1 = 0, beta2 = 0;               ///< AdamW

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(step);
    visit(squared_norm);
    visit(not_finite);
  }
};

/// With t = step + 1, norm = inverse_loss_scale * sqrt(squared_norm) and PyTorch's clip_grad_norm_,
///   gradient = inverse_loss_scale * min(1, clip_norm / (norm + 1e-6)), in float64, then rounded.
void prepare_update(const UpdateInputs& inputs, UpdateFactors* factors, cudaStream_t stream);

}  // namespace trireme::kernels
