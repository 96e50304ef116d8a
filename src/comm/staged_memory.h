// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/core/buffer.h"
#include "src/device/device.h"

namespace trireme {

/// Device memory of which each buffer has an image in host memory, where others can sum it.
class StagedMemory {
 public:
  /// The image comes from `host`, made fit for the device's copies where that can be done.
  static std::unique_ptr<Buffer> allocate(const std::shared_ptr<StagedMemory>& memory, std::size_t bytes,
                                          Device& device, BufferSource& host);

  /// The image of `bytes` from `data` on; null where they are not in a buffer.
  void* image_of(const void* data, std::size_t bytes) const;

 private:
  class StagedBuffer;
  struct Range {
    const std::byte* data = nullptr;
    std::byte* image = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Range> ranges_;
};

}  // namespace trireme
