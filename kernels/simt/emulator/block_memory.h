// SPDX-License-Identifier: Apache-2.0
// The shared memory of the running block. Each array has a gap behind it that AddressSanitizer forbids; all
// bytes are 0xFF when a block starts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace trireme::simt::emulator {

/// A static array: one per place and template instance.
struct SharedSlot {
  const char* name;
  std::size_t bytes, alignment;
};

class BlockMemory {
 public:
  static constexpr int kMaxSlots = 4096;
  static constexpr std::size_t kStaticLimit = 48 * 1024;
  static constexpr std::size_t kLimit = 227 * 1024;  ///< of sm_90; sm_80 has 163 KiB

  static constexpr std::size_t kStaticRegion = 128 * 1024;
  static constexpr std::size_t kRegion = kStaticRegion + 256 * 1024;  ///< all arrays lie in these bytes

  BlockMemory();
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// Forgets the arrays of the block before.
  void start_block(std::size_t dynamic_bytes);
  /// Null where the block's arrays are beyond the limit.
  void* static_array(int slot);
  void* dynamic_array() { return dynamic_bytes_ == 0 ? nullptr : dynamic_begin(); }
  const char* begin() const { return memory_; }
  /// Whether all bytes belong to one array of the block.
  bool holds(const void* pointer, std::size_t bytes) const;

 private:
  static constexpr std::size_t kGap = 64;

  struct Array {
    std::uint64_t block = 0;  ///< the block that last used it
    std::size_t begin = 0, bytes = 0;
  };

  char* dynamic_begin() const { return memory_ + kStaticRegion; }

  char* memory_;
  std::size_t dynamic_bytes_ = 0;
  std::size_t used_ = 0, requested_ = 0;
  std::uint64_t block_ = 0;
  std::array<Array, kMaxSlots> arrays_{};
  std::array<int, 64> current_{};  ///< slots of this block's arrays
  int current_count_ = 0;
};

}  // namespace trireme::simt::emulator
