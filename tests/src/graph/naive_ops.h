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

}  // namespace trireme::testing
