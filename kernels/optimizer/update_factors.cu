// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/update_factors.h"

#include <cmath>

#include "kernels/simt/simt.h"

namespace trireme::kernels {
namespace {

/// One thread works; the block has a warp, as every block.
__global__ void __launch_bounds__(simt::kWarpSize)
    update_factors_prepare_kernel(UpdateInputs inputs, UpdateFactors* factors) {
  if (threadIdx.x != 0) return;
  const auto inverse_scale = static_cast<double>(simt::load(&inputs.step->inverse_loss_scale));
  double gradient = inverse_scale;
  if (inputs.squared_norm != nullptr) {
    const double norm = inverse_scale * sqrt(simt::load(inputs.squared_norm));
    const double ratio = inputs.clip_norm / (norm + 1e-6);
    gradient *= ratio < 1 ? ratio : 1;
  }
  const auto t = static_cast<double>(simt::load(&inputs.step->step) + 1);
  simt::store(&factors->learning_rate, simt::load(&inputs.step->learning_rate));
  simt::store(&factors->gradient, static_cast<float>(gradient));
  simt::store(&factors->first_correction, static_cast<float>(1 / (1 - pow(inputs.beta1, t))));
  simt::store(&factors->second_correction, static_cast<float>(1 / sqrt(1 - pow(inputs.beta2, t))));
  const bool skip = inputs.not_finite != nullptr && simt::load(inputs.not_finite) != 0;
  simt::store<std::int32_t>(&factors->skip, skip ? 1 : 0);
}

}  // namespace

void prepare_update(const UpdateInputs& inputs, UpdateFactors* factors, cudaStream_t stream) {
  SIMT_LAUNCH(update_factors_prepare_kernel, 1, simt::kWarpSize, 0, stream, inputs, factors);
}

}  // namespace trireme::kernels
