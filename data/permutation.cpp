// SPDX-License-Identifier: Apache-2.0
#include "data/permutation.h"

#include <bit>

#include "src/core/error.h"

namespace trireme {
namespace {

/// The round function: the upper bits of MurmurHash3's 64-bit finaliser of half and key.
std::uint64_t mix(std::uint64_t half, std::uint64_t key, unsigned bits) {
  std::uint64_t x = half ^ key;
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
  x ^= x >> 33;
  return x >> (64 - bits);
}

}  // namespace

KeyedPermutation::KeyedPermutation(std::int64_t size, std::uint64_t seed, RandomStream stream,
                                   std::uint32_t epoch, std::uint64_t first_round, std::uint32_t block)
    : size_(static_cast<std::uint64_t>(size)) {
  TRIREME_ASSERT(size >= 0, "a permutation has no negative size");
  const unsigned bits = size_ > 1 ? static_cast<unsigned>(std::bit_width(size_ - 1)) : 1;
  half_bits_ = (bits + 1) / 2;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto words = Philox(seed, stream, epoch, first_round + round).block(block);
    keys_[round] = (static_cast<std::uint64_t>(words[0]) << 32) | words[1];
  }
}

std::int64_t KeyedPermutation::at(std::int64_t index) const {
  std::uint64_t value = static_cast<std::uint64_t>(index);
  TRIREME_ASSERT(value < size_, "index outside of the permutation");
  do {
    value = forward_once(value);
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

std::int64_t KeyedPermutation::inverse(std::int64_t image) const {
  std::uint64_t value = static_cast<std::uint64_t>(image);
  TRIREME_ASSERT(value < size_, "image outside of the permutation");
  do {
    value = backward_once(value);
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

std::uint64_t KeyedPermutation::forward_once(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & ((std::uint64_t{1} << half_bits_) - 1);
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ mix(right, key, half_bits_);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t KeyedPermutation::backward_once(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & ((std::uint64_t{1} << half_bits_) - 1);
  for (std::uint64_t round = kRounds; round-- > 0;) {
    const std::uint64_t previous = right ^ mix(left, keys_[round], half_bits_);
    right = left;
    left = previous;
  }
  return (left << half_bits_) | right;
}

}  // namespace trireme
