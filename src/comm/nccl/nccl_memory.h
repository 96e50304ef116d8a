// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/comm/nccl/nccl_handle.h"
#include "src/device/device.h"

namespace trireme {

/// Zeroed device memory for collectives of `handle`: of NCCL's own kind and registered with it where the
/// library can, else the device's. May outlive the communicator, but not the device.
std::unique_ptr<Buffer> allocate_for_nccl(std::shared_ptr<NcclHandle> handle, Device& device,
                                          std::size_t bytes);

}  // namespace trireme
