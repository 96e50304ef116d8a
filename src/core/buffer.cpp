// SPDX-License-Identifier: Apache-2.0
#include "src/core/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(void* data, std::size_t bytes) : Buffer(data, bytes) {}
  ~HostBuffer() override { std::free(data_); }
};

}  // namespace

std::unique_ptr<Buffer> HostMemory::allocate(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr)
    throw make_error(Status::configuration, "out of memory: {:.1f} MiB were asked for",
                     static_cast<double>(bytes) / 0x1p20)
        .hint("use a smaller --global-batch or --eval-batch");
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);  // a wish: failure costs speed only
  std::memset(data, 0, rounded);
  return std::make_unique<HostBuffer>(data, bytes);
}

}  // namespace trireme
