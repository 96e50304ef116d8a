// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/device/accelerator.h"

namespace trireme {

/// The visible GPUs and the versions of driver and runtime; `obstacle` in a user's words where there is none.
/// Does not fill in libraries. Never throws for what is missing.
AcceleratorFacts read_gpu_facts();

}  // namespace trireme
