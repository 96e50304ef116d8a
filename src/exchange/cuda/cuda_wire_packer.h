// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/device/cuda/cuda_device.h"
#include "src/exchange/wire_packer.h"

namespace trireme {

/// Over device memory, by kernels on the stream that it is given, which must be one of the device's. The same
/// bits as the host's. The device must outlive it.
std::unique_ptr<WirePacker> make_cuda_wire_packer(DType type, CudaDevice& device);

}  // namespace trireme
