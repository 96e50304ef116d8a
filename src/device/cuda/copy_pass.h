// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {

/// Copies device memory; nothing to do where both are the same, or `to` is null.
Pass copy_pass(const CudaEngine& engine, void* to, const void* from, std::size_t bytes);

}  // namespace trireme::cuda
