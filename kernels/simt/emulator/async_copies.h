// SPDX-License-Identifier: Apache-2.0
// The cp.async copies of one thread. Hardware may write the destination at any moment between issue and wait,
// and read the source as late: here the destination is poison from issue on, and the copy is made at the
// wait. A kernel that reads too early, or fills a stage that is still read, computes with NaN in every order.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/simt/emulator/bytes.h"

namespace trireme::simt::emulator {

class AsyncCopies {
 public:
  static constexpr unsigned kCapacity = 512;

  void start_block() { begin_ = end_ = groups_ = 0; }
  bool full() const { return end_ - begin_ == kCapacity; }
  bool empty() const { return begin_ == end_; }

  void issue(void* to, const void* from, int bytes, bool valid) {
    fill_bytes(to, kPoison, static_cast<std::size_t>(bytes));
    copies_[end_++ % kCapacity] = {to, from, groups_, static_cast<std::uint8_t>(bytes), valid};
  }
  void commit() { ++groups_; }
  /// Makes all copies but those of the last `pending` committed groups, and those not committed.
  void wait(unsigned pending) {
    for (; begin_ != end_; ++begin_) {
      const Copy& copy = copies_[begin_ % kCapacity];
      if (copy.group + pending >= groups_) return;
      if (copy.valid)
        copy_bytes(copy.to, copy.from, copy.bytes);
      else
        fill_bytes(copy.to, 0, copy.bytes);
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    unsigned group;
    std::uint8_t bytes;
    bool valid;
  };

  unsigned begin_ = 0, end_ = 0, groups_ = 0;
  std::array<Copy, kCapacity> copies_;
};

}  // namespace trireme::simt::emulator
