// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "src/core/buffer.h"

namespace trireme {

/// Memory of the current device, zeroed. Error (78) where it does not suffice.
class DeviceMemory final : public BufferSource {
 public:
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
};

/// Host memory that the device copies from and to by itself, zeroed.
class PinnedMemory final : public BufferSource {
 public:
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
};

/// Host memory of another maker made such, until the result goes; null where CUDA does not take it.
std::shared_ptr<void> pin_host_memory(void* data, std::size_t bytes);

}  // namespace trireme
