// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/device/device.h"

namespace trireme::testing {

/// One op as two functions over its bindings.
struct NaiveKernel {
  using Pass = void (*)(const OpRequest& request, const Bindings& bindings, const RunContext& context);
  Pass forward = nullptr, backward = nullptr;
  OpFacts facts;                                                 ///< without output
  bool overwrites_forward = false, overwrites_backward = false;  ///< the loops bear it
};

NaiveKernel kernel_of(const OpRequest& request);

// Layers with parameters.
void conv_forward(const OpRequest& request, const Bindings& bindings, const RunContext& context);
void conv_backward(const OpRequest& request, const Bindings& bindings, const RunContext& context);
void norm_forward(const OpRequest& request, const Bindings& bindings, const RunContext& context);
void norm_backward(const OpRequest& request, const Bindings& bindings, const RunContext& context);
void linear_forward(const OpRequest& request, const Bindings& bindings, const RunContext& context);
void linear_backward(const OpRequest& request, const Bindings& bindings, const RunContext& context);

}  // namespace trireme::testing
