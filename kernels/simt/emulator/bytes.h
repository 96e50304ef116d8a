// SPDX-License-Identifier: Apache-2.0
// memset and memcpy are accesses by the calling thread for the sanitizers; what the emulator does is none.
// The empty asm keeps the compiler from turning these loops into calls of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme::simt::emulator {

constexpr std::uint8_t kPoison = 0xFF;  ///< NaN as float, bf16 and half; -1 as a number

/// A copy of a size that the compiler knows is a few moves, not a call.
template <std::size_t kBytes>
inline void copy_block(void* to, const void* from) {
  __builtin_memcpy(to, from, kBytes);
  asm volatile("" ::: "memory");
}

inline void fill_bytes(void* to, std::uint8_t value, std::size_t size) {
  auto* bytes = static_cast<std::uint8_t*>(to);
  const std::uint64_t word = value * 0x0101010101010101ULL;
  const std::uint64_t words[4] = {word, word, word, word};
  for (; size >= 32; size -= 32, bytes += 32) copy_block<32>(bytes, words);
  for (; size >= 4; size -= 4, bytes += 4) copy_block<4>(bytes, words);
  for (; size > 0; --size, ++bytes) copy_block<1>(bytes, words);
}
inline void copy_bytes(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<std::uint8_t*>(to);
  const auto* source = static_cast<const std::uint8_t*>(from);
  for (; size >= 4; size -= 4, target += 4, source += 4) copy_block<4>(target, source);
  for (; size > 0; --size, ++target, ++source) copy_block<1>(target, source);
}

}  // namespace trireme::simt::emulator
