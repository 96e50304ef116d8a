// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme {

/// Work on flat buffers is cut into blocks of this many elements: what one thread takes at a time, and, where
/// results are summed, the fixed order of summation that makes the bits independent of the number of threads.
constexpr std::size_t kBlockElements = std::size_t{1} << 15;

constexpr std::size_t blocks_of(std::size_t count) {
  return (count + kBlockElements - 1) / kBlockElements;
}

constexpr std::size_t block_size(std::size_t block, std::size_t count) {
  return std::min(kBlockElements, count - block * kBlockElements);
}

}  // namespace trireme
