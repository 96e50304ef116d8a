// SPDX-License-Identifier: Apache-2.0
// Which threads of a block can go on, and who does next.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "kernels/simt/emulator/settings.h"

namespace trireme::simt::emulator {

constexpr int kMaxThreads = 1024;
constexpr int kMaxWarps = kMaxThreads / 32;

class ReadySet {
 public:
  void clear() {
    lanes_.fill(0);
    warps_ = 0;
  }
  bool empty() const { return warps_ == 0; }
  void add(int warp, std::uint32_t mask) {
    lanes_[static_cast<std::size_t>(warp)] |= mask;
    if (mask != 0) warps_ |= 1U << warp;
  }
  void remove(int thread) {
    std::uint32_t& lanes = lanes_[static_cast<std::size_t>(thread / 32)];
    lanes &= ~(1U << (thread % 32));
    if (lanes == 0) warps_ &= ~(1U << (thread / 32));
  }

  /// Who begins where all are equal: of a set that is not empty.
  int first(Order order, std::uint64_t& random) const {
    if (order == Order::seeded) return next(order, 0, random);
    if (order == Order::reverse) {
      const int warp = before(warps_, 32);
      return 32 * warp + before(lanes_[static_cast<std::size_t>(warp)], 32);
    }
    const int warp = std::countr_zero(warps_);
    return 32 * warp + std::countr_zero(lanes_[static_cast<std::size_t>(warp)]);
  }

  /// The next of a set that is not empty, in order after `thread`. The warp of `thread` goes first: its lanes
  /// complete their collectives while their data is in the cache.
  int next(Order order, int thread, std::uint64_t& random) const {
    const int warp = thread / 32;
    if (order == Order::seeded) {
      const int chosen = nth_bit(warps_, draw(random, std::popcount(warps_)));
      const std::uint32_t lanes = lanes_[static_cast<std::size_t>(chosen)];
      return 32 * chosen + nth_bit(lanes, draw(random, std::popcount(lanes)));
    }
    if (order == Order::reverse) {
      if (const std::uint32_t lanes = lanes_[static_cast<std::size_t>(warp)]; lanes != 0)
        return 32 * warp + before(lanes, thread % 32);
      const int chosen = before(warps_, warp);
      return 32 * chosen + before(lanes_[static_cast<std::size_t>(chosen)], 32);
    }
    if (const std::uint32_t lanes = lanes_[static_cast<std::size_t>(warp)]; lanes != 0)
      return 32 * warp + after(lanes, thread % 32);
    const int chosen = after(warps_, warp);
    return 32 * chosen + std::countr_zero(lanes_[static_cast<std::size_t>(chosen)]);
  }

 private:
  static int after(std::uint32_t set, int place) {
    const std::uint32_t above = place >= 31 ? 0 : set & (0xFFFFFFFEU << place);
    return std::countr_zero(above != 0 ? above : set);
  }
  static int before(std::uint32_t set, int place) {
    const std::uint32_t below = place >= 32 ? set : set & ((1U << place) - 1U);
    return 31 - std::countl_zero(below != 0 ? below : set);
  }
  static int nth_bit(std::uint32_t set, int n) {
    for (; n > 0; --n) set &= set - 1;
    return std::countr_zero(set);
  }
  /// xorshift64*: a number below `count`.
  static int draw(std::uint64_t& random, int count) {
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    return static_cast<int>(((random * 0x2545F4914F6CDD1DULL) >> 33) % static_cast<std::uint64_t>(count));
  }

  std::array<std::uint32_t, kMaxWarps> lanes_{};
  std::uint32_t warps_ = 0;
};

}  // namespace trireme::simt::emulator
