// SPDX-License-Identifier: Apache-2.0
#include "src/comm/staged_memory.h"

#include <functional>
#include <utility>

namespace trireme {

/// Takes itself off the list; may outlive the communicator, but not the device.
class StagedMemory::StagedBuffer final : public Buffer {
 public:
  StagedBuffer(std::shared_ptr<StagedMemory> memory, std::unique_ptr<Buffer> data,
               std::unique_ptr<Buffer> image, Device& device)
      : Buffer(data->data(), data->bytes()),
        memory_(std::move(memory)),
        buffer_(std::move(data)),
        image_(std::move(image)),
        pin_(device.pin(image_->data(), bytes_)) {
    memory_->ranges_.push_back(
        {static_cast<const std::byte*>(data_), static_cast<std::byte*>(image_->data()), bytes_});
  }
  ~StagedBuffer() override {
    std::erase_if(memory_->ranges_, [this](const Range& range) { return range.data == data_; });
  }
  StagedBuffer(const StagedBuffer&) = delete;
  StagedBuffer& operator=(const StagedBuffer&) = delete;

 private:
  std::shared_ptr<StagedMemory> memory_;
  std::unique_ptr<Buffer> buffer_, image_;
  std::shared_ptr<void> pin_;  // goes before the memory
};

std::unique_ptr<Buffer> StagedMemory::allocate(const std::shared_ptr<StagedMemory>& memory, std::size_t bytes,
                                               Device& device, BufferSource& host) {
  return std::make_unique<StagedBuffer>(memory, device.allocate(bytes), host.allocate(bytes), device);
}

void* StagedMemory::image_of(const void* data, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::less_equal<const std::byte*> not_after;
  for (const Range& range : ranges_)
    if (not_after(range.data, begin) && not_after(begin + bytes, range.data + range.bytes))
      return range.image + (begin - range.data);
  return nullptr;
}

}  // namespace trireme
