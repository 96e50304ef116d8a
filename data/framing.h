// SPDX-License-Identifier: Apache-2.0
// Geometry of a sample: which part of its picture the net sees, at what size, and whether mirrored.
#pragma once

#include <cstdint>

#include "data/transform.h"

namespace trireme {

/// The source window is resized to resized_height x resized_width (or taken as it is where that is its size);
/// the output begins at row `top`, column `left` of the result. Where the output reaches beyond it there are
/// zero pixels: that happens only to windows that are not resized.
struct Framing {
  int source_top = 0, source_left = 0, source_height = 0, source_width = 0;
  int resized_height = 0, resized_width = 0;
  int top = 0, left = 0;
  bool flip = false;

  bool resizes() const { return resized_height != source_height || resized_width != source_width; }
};

/// The framing of a picture of this size. All randomness of a sample comes from
/// random = Philox(seed, RandomStream::augmentation, epoch, sample), by position:
///   block 0      word 0: flip if its top bit is set; words 1, 2: row and column of the random crop
///   block 1 + a  attempt a = 0..9 of random-resized-crop; words 0..3: area, ratio, row, column
/// An integer below b from word w is (w * b) >> 32, a uniform number in [0, 1) is (w >> 8) 2^-24.
Framing frame_sample(int height, int width, const TransformOptions& options, std::uint32_t epoch,
                     std::int64_t sample);

}  // namespace trireme
