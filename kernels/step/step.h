// SPDX-License-Identifier: Apache-2.0
// The numbers of a step, written to where its kernels read them, and the loss scale that follows from whether
// its gradients were finite. Neither passes through the host, so a step need not wait to know either.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/step_values.h"

namespace trireme::kernels {

/// Lies in device memory, all through a run in fp16.
struct LossScaleState {
  float scale;              ///< by what losses are multiplied now; a power of two has an exact inverse
  std::int32_t good_steps;  ///< since `scale` last changed
  std::int64_t skipped;     ///< steps of the run that changed nothing
};

struct LossScaleOptions {
  float growth = 2, backoff = 0.5F;
  std::int32_t growth_interval = 2000;  ///< good steps until the scale grows
  float smallest = 1, largest = 16777216;
};

/// *to = values; where `scale` is not null, loss_scale and inverse_loss_scale are its scale and 1 / scale as
/// they are when the stream comes here, not those of `values`.
void set_step_values(StepValues* to, const StepValues& values, const LossScaleState* scale,
                     cudaStream_t stream);

/// After a step. *not_finite (as check_finite sets it) != 0: the scale falls by `backoff` and a skipped step
/// is counted; else a good step is, and each growth_interval of them in a row lets the scale grow. It stays
/// between `smallest` and `largest`. Throws std::invalid_argument for options that could not keep it there.
void update_loss_scale(LossScaleState* state, const std::int32_t* not_finite, const LossScaleOptions& options,
                       cudaStream_t stream);

}  // namespace trireme::kernels
