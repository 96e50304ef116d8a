// SPDX-License-Identifier: Apache-2.0
// memset and memcpy are accesses by the calling thread for the sanitizers; what the emulator does is none.
// The build keeps the compiler from turning these loops into calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme::simt::emulator {

constexpr std::uint8_t kPoison = 0xFF;  ///< NaN as float, bf16 and half; -1 as a number

inline void fill_bytes(void* to, std::uint8_t value, std::size_t size) {
  auto* bytes = static_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = value;
}
inline void copy_bytes(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<std::uint8_t*>(to);
  const auto* source = static_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < size; ++i) target[i] = source[i];
}

}  // namespace trireme::simt::emulator
