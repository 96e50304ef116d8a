// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace trireme {

/// A decoded picture: 8-bit samples, rows of pixels of interleaved channels (HWC). Reused to save
/// allocations.
struct Picture {
  int height = 0, width = 0, channels = 0;  ///< channels: 1 grey, 3 RGB
  std::vector<std::uint8_t> pixels;

  void resize(int h, int w, int c) {
    height = h;
    width = w;
    channels = c;
    pixels.resize(static_cast<std::size_t>(h) * static_cast<std::size_t>(w) * static_cast<std::size_t>(c));
  }
};

}  // namespace trireme
