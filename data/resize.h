// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/picture.h"

namespace trireme {

/// Rows of interleaved 8-bit channels somewhere in memory: a picture, or a window of one. Owns nothing.
struct PictureView {
  const std::uint8_t* pixels = nullptr;
  int height = 0, width = 0, channels = 0;
  std::ptrdiff_t row_bytes = 0;  ///< from a row to the next

  PictureView() = default;
  explicit PictureView(const Picture& picture);
  /// Must lie inside.
  PictureView window(int top, int left, int window_height, int window_width) const;
};

/// Which part of a resized picture is wanted.
struct ResizeTarget {
  int full_height = 0, full_width = 0;           ///< the size the whole source is resized to
  int top = 0, left = 0, height = 0, width = 0;  ///< the part of it that is computed
};

/// Memory that resizes reuse. One thread at a time.
struct ResizeScratch {
  /// How the elements along one axis of the result are weighted sums of the source's.
  struct Axis {
    std::vector<int> first;             ///< of each result element: its first source element
    std::vector<int> taps;              ///< and how many it takes
    std::vector<std::int32_t> weights;  ///< fixed-point, `stride` of them for each result element
    int stride = 0;
  };
  Axis x, y;
  std::vector<std::uint8_t> intermediate;
  std::vector<std::int32_t> sums;
};

/// As resize_bilinear of the whole, cut to the target's part; computes no more than that part needs.
void resize_bilinear(const PictureView& source, const ResizeTarget& target, Picture& destination,
                     ResizeScratch& scratch);

/// Antialiased bilinear resize (triangle filter widened when shrinking), within one level of Pillow's
/// BILINEAR.
void resize_bilinear(const Picture& source, int height, int width, Picture& destination);

}  // namespace trireme
