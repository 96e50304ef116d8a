// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/device/cuda/cuda_device.h"
#include "src/optim/optimizer.h"

namespace trireme {

/// The optimizer of make_sgd with parameters, gradients and momentum in device memory, and the same bits
/// where nothing is clipped. The device must outlive it. With fp16 it divides gradients by the device's loss
/// scale and moves that after each step_if_finite.
std::unique_ptr<Optimizer> make_cuda_sgd(const Graph& graph, const FlatLayout& layout,
                                         const OptimizerOptions& options, CudaDevice& device);

}  // namespace trireme
