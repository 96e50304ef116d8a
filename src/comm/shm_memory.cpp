// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace trireme {
namespace {

constexpr Group::Seconds kStartTimeout = std::chrono::minutes(10);
constexpr std::size_t kBuffersExpected = 16;  // each may lose up to a page to rounding

std::size_t in_pages(std::size_t bytes) {
  return (bytes + ShmLayout::kAlignment - 1) / ShmLayout::kAlignment * ShmLayout::kAlignment;
}

}  // namespace

class ShmMemory::SharedBuffer final : public Buffer {
 public:
  SharedBuffer(std::shared_ptr<ShmMemory> memory, std::size_t begin, void* data, std::size_t bytes)
      : Buffer(data, bytes), memory_(std::move(memory)), begin_(begin) {}
  ~SharedBuffer() override { memory_->buffers_.erase(begin_); }

 private:
  std::shared_ptr<ShmMemory> memory_;
  std::size_t begin_;
};

ShmMemory::ShmMemory(const Group& group, std::size_t buffer_bytes)
    : group_(group.duplicate()), window_(group, bytes_for(buffer_bytes)) {}

std::size_t ShmMemory::bytes_for(std::size_t buffer_bytes) {
  if (buffer_bytes == 0) return ShmLayout::kBuffers;
  return ShmLayout::kBuffers + in_pages(buffer_bytes) + kBuffersExpected * ShmLayout::kAlignment;
}

ShmLane ShmMemory::make_lane(std::vector<int> names) const {
  return {group_.rank(), window_.memories(), window_.bytes(), std::move(names)};
}

void ShmMemory::meet(const char* what) const {
  group_.barrier(kStartTimeout, what);
}

std::optional<std::size_t> ShmMemory::find_room(std::size_t bytes) const {
  std::size_t begin = ShmLayout::kBuffers;
  for (const auto& [used_begin, used_end] : buffers_) {
    if (used_begin - begin >= bytes) return begin;
    begin = used_end;
  }
  if (window_.bytes() - begin < bytes) return {};
  return begin;
}

std::unique_ptr<Buffer> ShmMemory::allocate(const std::shared_ptr<ShmMemory>& memory, std::size_t bytes) {
  const std::size_t taken = in_pages(std::max<std::size_t>(bytes, 1));
  const std::optional<std::size_t> begin = memory->find_room(taken);
  if (!begin) return nullptr;
  std::byte* data = memory->window_.memories()[static_cast<std::size_t>(memory->group_.rank())] + *begin;
  std::memset(data, 0, bytes);
  memory->buffers_.emplace(*begin, *begin + taken);
  return std::make_unique<SharedBuffer>(memory, *begin, data, bytes);
}

}  // namespace trireme
