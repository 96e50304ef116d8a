// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/block_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/emulator/bytes.h"
#include "kernels/simt/emulator/sanitizer.h"

namespace trireme::simt::emulator {
namespace {

std::array<SharedSlot, BlockMemory::kMaxSlots>& slots() {
  static std::array<SharedSlot, BlockMemory::kMaxSlots> slots{};
  return slots;
}

std::atomic<int> slot_count{0};

/// By a plain system call: ThreadSanitizer takes the function for a write by the caller.
char* map_memory(std::size_t bytes) {
  const long memory = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == -1)
    throw std::system_error(errno, std::generic_category(), "emulator: no memory for shared arrays");
  return reinterpret_cast<char*>(memory);
}

}  // namespace

int new_shared_slot(const char* name, std::size_t bytes, std::size_t alignment, Site site) {
  const int slot = slot_count.fetch_add(1);
  if (slot >= BlockMemory::kMaxSlots) {
    std::fprintf(stderr, "emulator: %s:%d: more than %d shared arrays in one program\n", site.file, site.line,
                 BlockMemory::kMaxSlots);
    std::abort();
  }
  slots()[static_cast<std::size_t>(slot)] = {name, bytes, alignment};
  return slot;
}

BlockMemory::BlockMemory() : memory_(map_memory(kRegion)) {}

BlockMemory::~BlockMemory() {
  allow(memory_, kRegion);
  munmap(memory_, kRegion);
}

void BlockMemory::start_block(std::size_t dynamic_bytes) {
  if (watches_order()) {  // what the block before did is not forgotten otherwise
    munmap(memory_, kRegion);
    memory_ = map_memory(kRegion);
  }
  ++block_;
  used_ = 0;
  current_count_ = 0;
  dynamic_bytes_ = dynamic_bytes;
  requested_ = dynamic_bytes;
  forbid(memory_, kRegion);
  allow(dynamic_begin(), dynamic_bytes);
  fill_bytes(dynamic_begin(), kPoison, dynamic_bytes);
}

void* BlockMemory::static_array(int slot) {
  Array& array = arrays_[static_cast<std::size_t>(slot)];
  if (array.block == block_) return memory_ + array.begin;
  const SharedSlot& wanted = slots()[static_cast<std::size_t>(slot)];
  const std::size_t begin = (used_ + wanted.alignment - 1) / wanted.alignment * wanted.alignment;
  const std::size_t gap = kGap * static_cast<std::size_t>(current_count_);
  if (begin + wanted.bytes > kStaticLimit + gap || requested_ + wanted.bytes > kLimit ||
      current_count_ == static_cast<int>(current_.size()))
    return nullptr;
  array = {block_, begin, wanted.bytes};
  used_ = begin + wanted.bytes + kGap;
  requested_ += wanted.bytes;
  current_[static_cast<std::size_t>(current_count_++)] = slot;
  allow(memory_ + begin, wanted.bytes);
  fill_bytes(memory_ + begin, kPoison, wanted.bytes);
  return memory_ + begin;
}

bool BlockMemory::holds(const void* pointer, std::size_t bytes) const {
  const auto* begin = static_cast<const char*>(pointer);
  const auto lies_in = [begin, bytes](const char* from, std::size_t size) {
    return begin >= from && bytes <= size && static_cast<std::size_t>(begin - from) <= size - bytes;
  };
  if (lies_in(dynamic_begin(), dynamic_bytes_)) return true;
  for (int i = 0; i < current_count_; ++i) {
    const Array& array = arrays_[static_cast<std::size_t>(current_[static_cast<std::size_t>(i)])];
    if (lies_in(memory_ + array.begin, array.bytes)) return true;
  }
  return false;
}

}  // namespace trireme::simt::emulator
