// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "src/device/device.h"

namespace trireme::testing {

/// A buffer between two guards. Poison is 0xFF in every byte, which as a float is NaN.
class GuardedMemory {
 public:
  GuardedMemory(Device& device, std::size_t bytes)
      : bytes_(bytes), buffer_(device.allocate(kGuard + (bytes + 63) / 64 * 64 + kGuard)) {
    std::memset(buffer_->data(), kGuardByte, buffer_->bytes());
    poison();
  }
  ~GuardedMemory() {
    const auto* all = static_cast<const unsigned char*>(buffer_->data());
    const auto intact = [](unsigned char byte) { return byte == kGuardByte; };
    EXPECT_TRUE(std::all_of(all, all + kGuard, intact)) << "something wrote before a buffer";
    EXPECT_TRUE(std::all_of(all + kGuard + bytes_, all + buffer_->bytes(), intact))
        << "something wrote behind a buffer of " << bytes_ << " bytes";
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return static_cast<unsigned char*>(buffer_->data()) + kGuard; }
  float* floats() const { return static_cast<float*>(data()); }
  void poison() { std::memset(data(), 0xFF, bytes_); }
  std::vector<unsigned char> bytes() const {
    const auto* first = static_cast<const unsigned char*>(data());
    return {first, first + bytes_};
  }
  /// No four aligned bytes are poison: everything was written, padding of blocked channels included.
  bool is_written() const {
    for (std::size_t i = 0; i + 4 <= bytes_; i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, static_cast<const unsigned char*>(data()) + i, 4);
      if (word == 0xFFFFFFFF) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr unsigned char kGuardByte = 0xA5;
  std::size_t bytes_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace trireme::testing
