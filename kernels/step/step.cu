// SPDX-License-Identifier: Apache-2.0
// One thread works in each kernel; the block has a warp, as every block.
#include "kernels/step/step.h"

#include <stdexcept>

#include "kernels/simt/simt.h"

namespace trireme::kernels {
namespace {

struct SetArguments {
  StepValues* to;
  StepValues values;
  const LossScaleState* scale;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(to);
    visit(scale);
  }
};

__global__ void __launch_bounds__(simt::kWarpSize) step_values_set_kernel(SetArguments a) {
  if (threadIdx.x != 0) return;
  simt::store(&a.to->seed, a.values.seed);
  simt::store(&a.to->step, a.values.step);
  simt::store(&a.to->valid_samples, a.values.valid_samples);
  simt::store(&a.to->epoch, a.values.epoch);
  simt::store(&a.to->learning_rate, a.values.learning_rate);
  simt::store(&a.to->gradient_scale, a.values.gradient_scale);
  simt::store(&a.to->share_weight, a.values.share_weight);
  float scale = a.values.loss_scale, inverse = a.values.inverse_loss_scale;
  if (a.scale != nullptr) {
    scale = simt::load(&a.scale->scale);
    inverse = 1.0F / scale;
  }
  simt::store(&a.to->loss_scale, scale);
  simt::store(&a.to->inverse_loss_scale, inverse);
}

struct UpdateArguments {
  LossScaleState* state;
  const std::int32_t* not_finite;
  LossScaleOptions options;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(state);
    visit(not_finite);
  }
};

/// Without a product that could overflow: `largest` and `smallest` are compared first.
__device__ __forceinline__ float grown(float scale, const LossScaleOptions& options) {
  return scale >= options.largest / options.growth ? options.largest : scale * options.growth;
}
__device__ __forceinline__ float fallen(float scale, const LossScaleOptions& options) {
  return scale <= options.smallest / options.backoff ? options.smallest : scale * options.backoff;
}

__global__ void __launch_bounds__(simt::kWarpSize) loss_scale_update_kernel(UpdateArguments a) {
  if (threadIdx.x != 0) return;
  const float scale = simt::load(&a.state->scale);
  if (simt::load(a.not_finite) != 0) {
    simt::store(&a.state->scale, fallen(scale, a.options));
    simt::store<std::int32_t>(&a.state->good_steps, 0);
    simt::store<std::int64_t>(&a.state->skipped, simt::load(&a.state->skipped) + 1);
    return;
  }
  const std::int32_t good = simt::load(&a.state->good_steps) + 1;
  const bool grows = good >= a.options.growth_interval;
  if (grows) simt::store(&a.state->scale, grown(scale, a.options));
  simt::store<std::int32_t>(&a.state->good_steps, grows ? 0 : good);
}

bool sound(const LossScaleOptions& options) {
  return options.growth >= 1 && options.backoff > 0 && options.backoff <= 1 && options.growth_interval > 0 &&
         options.smallest > 0 && options.smallest <= options.largest;
}

}  // namespace

void set_step_values(StepValues* to, const StepValues& values, const LossScaleState* scale,
                     cudaStream_t stream) {
  SIMT_LAUNCH(step_values_set_kernel, 1, simt::kWarpSize, 0, stream, SetArguments{to, values, scale});
}

void update_loss_scale(LossScaleState* state, const std::int32_t* not_finite, const LossScaleOptions& options,
                       cudaStream_t stream) {
  if (!sound(options)) throw std::invalid_argument("update_loss_scale: options that lead the scale astray");
  SIMT_LAUNCH(loss_scale_update_kernel, 1, simt::kWarpSize, 0, stream,
              UpdateArguments{state, not_finite, options});
}

}  // namespace trireme::kernels
