// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 for kernels: the numbers of src/core/philox.h, word for word.
#pragma once

#include <cstdint>

#include "kernels/simt/simt.h"

namespace trireme::kernels {

/// Four words of a block of random numbers.
struct RandomWords {
  std::uint32_t words[4];

  __host__ __device__ std::uint32_t operator[](int i) const { return words[i]; }
};

__host__ __device__ inline RandomWords philox4x32(RandomWords counter, std::uint64_t key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t(&word)[4] = counter.words;
  SIMT_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * word[0], product1 = kMultiplier1 * word[2];
    word[0] = static_cast<std::uint32_t>(product1 >> 32) ^ word[1] ^ key0;
    word[1] = static_cast<std::uint32_t>(product1);
    word[2] = static_cast<std::uint32_t>(product0 >> 32) ^ word[3] ^ key1;
    word[3] = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

/// The random numbers of one (seed, stream, epoch, sample). Counter, least significant word first: block (32
/// bit), epoch (32 bit), sample (48 bit), stream (16 bit).
struct Philox {
  std::uint64_t seed, sample;
  std::uint32_t epoch, stream;

  /// Words 4 index to 4 index + 3.
  __host__ __device__ RandomWords block(std::uint32_t index) const {
    return philox4x32({{index, epoch, static_cast<std::uint32_t>(sample),
                        (static_cast<std::uint32_t>(sample >> 32) & 0xFFFFU) | stream << 16}},
                      seed);
  }
};

/// Uniform in [0, 1): the upper 24 bits of one word times 2^-24.
__host__ __device__ inline float uniform_of(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

}  // namespace trireme::kernels
