// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/step/step.h"

namespace trireme::bench {
namespace {

/// What every step does once beside its layers: how long two launches of one thread take.
struct Operands {
  Operands()
      : step(make_array<kernels::StepValues>(1)),
        scale(make_array(std::vector{kernels::LossScaleState{65536, 0, 0}})),
        not_finite(make_array(std::vector<std::int32_t>(1))) {}
  void run(cudaStream_t stream) const {
    kernels::StepValues values;
    values.learning_rate = 0.5F;
    kernels::set_step_values(step->data(), values, scale->data(), stream);
    kernels::update_loss_scale(scale->data(), not_finite->data(), {}, stream);
  }

  Array<kernels::StepValues> step;
  Array<kernels::LossScaleState> scale;
  Array<std::int32_t> not_finite;
};

std::string check() {
  const Operands o;
  o.run(nullptr);
  const kernels::StepValues values = o.step->to_host()[0];
  const kernels::LossScaleState state = o.scale->to_host()[0];
  return compare("step values", {values.learning_rate, values.inverse_loss_scale}, {0.5, 1.0 / 65536}, 0) +
         compare("loss scale", {state.scale, static_cast<float>(state.good_steps)}, {65536, 1}, 0);
}

}  // namespace

std::vector<KernelCase> step_cases(Scale /*scale*/) {
  KernelCase one;
  one.name = "step/values_and_loss_scale";
  one.check = check;
  one.prepare = [] {
    return [operands = std::make_shared<Operands>()](cudaStream_t stream) { operands->run(stream); };
  };
  one.bytes = sizeof(kernels::StepValues) + 2.0 * sizeof(kernels::LossScaleState);
  return {one};
}

}  // namespace trireme::bench
