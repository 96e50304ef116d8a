// SPDX-License-Identifier: Apache-2.0
#include "src/core/philox.h"

#include <cmath>
#include <numbers>

namespace trireme {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Philox::Philox(std::uint64_t seed, std::uint16_t stream, std::uint32_t epoch, std::uint64_t sample)
    : counter_{0, epoch, static_cast<std::uint32_t>(sample),
               static_cast<std::uint32_t>((sample >> 32) & 0xFFFF) |
                   (static_cast<std::uint32_t>(stream) << 16)},
      key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

std::array<std::uint32_t, 4> Philox::block(std::uint32_t index) const {
  std::array<std::uint32_t, 4> counter = counter_;
  counter[0] = index;
  return philox4x32(counter, key_);
}

std::uint32_t Philox::next_u32() {
  if (used_ == 4) {
    words_ = block(next_block_++);
    used_ = 0;
  }
  return words_[used_++];
}

void fill_normal(const Philox& random, float stddev, float* values, std::int64_t count) {
  for (std::int64_t start = 0; start < count; start += 4) {
    const auto words = random.block(static_cast<std::uint32_t>(start / 4));
    for (std::int64_t pair = 0; pair < 2; ++pair) {
      const double u1 = (static_cast<double>(words[static_cast<std::size_t>(2 * pair)]) + 1.0) * 0x1p-32;
      const double u2 = static_cast<double>(words[static_cast<std::size_t>(2 * pair + 1)]) * 0x1p-32;
      const double radius = std::sqrt(-2.0 * std::log(u1)) * static_cast<double>(stddev);
      const double angle = 2.0 * std::numbers::pi * u2;
      const std::int64_t at = start + 2 * pair;
      if (at < count) values[at] = static_cast<float>(radius * std::cos(angle));
      if (at + 1 < count) values[at + 1] = static_cast<float>(radius * std::sin(angle));
    }
  }
}

void fill_uniform(const Philox& random, float bound, float* values, std::int64_t count) {
  for (std::int64_t start = 0; start < count; start += 4) {
    const auto words = random.block(static_cast<std::uint32_t>(start / 4));
    for (std::int64_t i = 0; i < 4 && start + i < count; ++i) {
      const float u = static_cast<float>(words[static_cast<std::size_t>(i)] >> 8) * 0x1p-24F;
      values[start + i] = bound * (2.0F * u - 1.0F);
    }
  }
}

}  // namespace trireme
