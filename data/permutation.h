// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "src/core/philox.h"

namespace trireme {

/// A keyed bijection of 0..size-1 in O(1) memory, computed per index. Immutable; any thread may use it.
///
/// A Feistel network permutes the integers of an even number of bits: the index is cut into two halves, and
/// each round replaces (left, right) by (right, left xor F(right, key of the round)), which is invertible
/// whatever F is. The domain is the smallest such power of two that holds `size`, so less than four times as
/// large; an image that falls outside 0..size-1 is sent through the network again until it falls inside
/// (cycle walking), which keeps the map a bijection of 0..size-1.
class KeyedPermutation {
 public:
  static constexpr std::uint64_t kRounds = 8;

  /// The key of round i is the first two words of block `block` of Philox(seed, stream, epoch, first_round +
  /// i).
  KeyedPermutation(std::int64_t size, std::uint64_t seed, RandomStream stream, std::uint32_t epoch,
                   std::uint64_t first_round = 0, std::uint32_t block = 0);

  /// Where 0 ≤ index < size goes.
  std::int64_t at(std::int64_t index) const;
  /// What goes to `image`: inverse(at(i)) == i.
  std::int64_t inverse(std::int64_t image) const;

 private:
  std::uint64_t forward_once(std::uint64_t value) const;
  std::uint64_t backward_once(std::uint64_t value) const;

  std::uint64_t size_;
  unsigned half_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace trireme
