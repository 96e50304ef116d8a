// SPDX-License-Identifier: Apache-2.0
// Geometry of a sample: which part of its picture the net sees, at what size, and whether mirrored. All
// randomness of a sample comes from Philox(seed, augmentation, epoch, sample id), by position:
//   block 0      word 0: flip if its top bit is set; words 1, 2: row and column of the random crop
//   block 1 + a  attempt a = 0..9 of random-resized-crop; words 0..3: area, ratio, row, column
// An integer below b from word w is (w b) >> 32, a uniform number in [0, 1) is (w >> 8) 2^-24.
#pragma once

#include "kernels/augment/augment.h"
#include "kernels/philox.h"

namespace trireme::kernels {

/// The source window is resized to resized_height x resized_width, or taken as it is where that is its size;
/// the output begins at row `top`, column `left` of the result. It reaches beyond the result, where there are
/// zero pixels, only if nothing is resized.
struct Framing {
  int source_top, source_left, source_height, source_width;
  int resized_height, resized_width;
  int top, left;
  int flip;

  __device__ bool resizes() const { return resized_height != source_height || resized_width != source_width; }
};

/// What is the same for all samples of a batch: pictures of one size differ by random numbers only.
struct FramingPlan {
  AugmentKind kind;
  int size;
  int padding;                   ///< margin of a random crop
  Framing center;                ///< what evaluation sees
  double ratio_low, ratio_high;  ///< logarithms of the bounds of a resized crop's ratio
};

__device__ inline int below(std::uint32_t word, int bound) {
  return static_cast<int>((static_cast<std::uint64_t>(word) * static_cast<std::uint64_t>(bound)) >> 32);
}

__device__ inline double uniform_between(std::uint32_t word, double low, double high) {
  return low + (high - low) * (static_cast<double>(word >> 8) * 0x1p-24);
}

/// Round half to even.
__device__ inline int rounded(double value) {
  return static_cast<int>(nearbyint(value));
}

/// Ten attempts at a window with a share of the area between 0.08 and 1 and a ratio of width to height
/// between 3/4 and 4/3, uniform in its logarithm. If none fits, the largest centred window whose ratio is
/// allowed.
__device__ inline Framing random_resized_crop(const FramingPlan& plan, int height, int width,
                                              const Philox& random) {
  constexpr double kMinArea = 0.08, kMaxArea = 1, kMinRatio = 3.0 / 4.0, kMaxRatio = 4.0 / 3.0;
  Framing framing{0, 0, 0, 0, plan.size, plan.size, 0, 0, 0};
  for (std::uint32_t attempt = 0; attempt < 10; ++attempt) {
    const RandomWords words = random.block(1 + attempt);
    const double area = static_cast<double>(height) * width * uniform_between(words[0], kMinArea, kMaxArea);
    const double ratio = exp(uniform_between(words[1], plan.ratio_low, plan.ratio_high));
    framing.source_width = rounded(sqrt(area * ratio));
    framing.source_height = rounded(sqrt(area / ratio));
    if (framing.source_width <= 0 || framing.source_width > width || framing.source_height <= 0 ||
        framing.source_height > height)
      continue;
    framing.source_top = below(words[2], height - framing.source_height + 1);
    framing.source_left = below(words[3], width - framing.source_width + 1);
    return framing;
  }
  const double ratio = static_cast<double>(width) / height;
  const int least_height = rounded(width / kMinRatio), least_width = rounded(height * kMaxRatio);
  framing.source_height = ratio < kMinRatio ? (least_height > 1 ? least_height : 1) : height;
  framing.source_width = ratio > kMaxRatio ? (least_width > 1 ? least_width : 1) : width;
  framing.source_top = (height - framing.source_height) / 2;
  framing.source_left = (width - framing.source_width) / 2;
  return framing;
}

__device__ inline Framing frame_sample(const FramingPlan& plan, int height, int width, const StepValues* step,
                                       std::int64_t sample) {
  constexpr std::uint32_t kAugmentationStream = 2;  // the host's RandomStream::augmentation
  if (plan.kind == AugmentKind::none) return plan.center;
  const Philox random{simt::load(&step->seed), static_cast<std::uint64_t>(sample), simt::load(&step->epoch),
                      kAugmentationStream};
  const RandomWords words = random.block(0);
  Framing framing = plan.center;
  if (plan.kind == AugmentKind::crop || plan.kind == AugmentKind::crop_flip) {
    framing.top = below(words[1], framing.resized_height + 2 * plan.padding - plan.size + 1) - plan.padding;
    framing.left = below(words[2], framing.resized_width + 2 * plan.padding - plan.size + 1) - plan.padding;
  } else if (plan.kind == AugmentKind::resized_crop) {
    framing = random_resized_crop(plan, height, width, random);
  }
  framing.flip = plan.kind != AugmentKind::crop ? static_cast<int>(words[0] >> 31) : 0;
  return framing;
}

/// The plan of a batch. Throws std::invalid_argument.
FramingPlan plan_framing(const AugmentShape& shape, const AugmentOptions& options);

}  // namespace trireme::kernels
