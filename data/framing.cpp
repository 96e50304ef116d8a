// SPDX-License-Identifier: Apache-2.0
#include "data/framing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/core/philox.h"

namespace trireme {
namespace {

using Words = std::array<std::uint32_t, 4>;

int below(std::uint32_t word, int bound) {
  return static_cast<int>((static_cast<std::uint64_t>(word) * static_cast<std::uint64_t>(bound)) >> 32);
}

double uniform(std::uint32_t word, double low, double high) {
  return low + (high - low) * (static_cast<double>(word >> 8) * 0x1p-24);
}

/// Round half to even, as Python's round does for torchvision.
int rounded(double value) {
  return static_cast<int>(std::nearbyint(value));
}

/// The whole picture with its shorter side resized to `shorter`.
Framing resize_shorter(int height, int width, int shorter) {
  const auto longer = [&](int side, int other) {
    return static_cast<int>(static_cast<std::int64_t>(shorter) * side / other);
  };
  Framing framing{.source_height = height, .source_width = width};
  framing.resized_height = height <= width ? shorter : longer(height, width);
  framing.resized_width = width <= height ? shorter : longer(width, height);
  return framing;
}

/// The picture as evaluation sees it, before the crop.
Framing resize_for_crop(int height, int width, const TransformOptions& options) {
  const int size = options.image_size;
  if (height == size && width == size) return resize_shorter(height, width, size);
  return resize_shorter(height, width, std::max(size, rounded(size / options.crop_ratio)));
}

Framing center_crop(int height, int width, const TransformOptions& options) {
  Framing framing = resize_for_crop(height, width, options);
  framing.top = rounded((framing.resized_height - options.image_size) / 2.0);
  framing.left = rounded((framing.resized_width - options.image_size) / 2.0);
  return framing;
}

/// A picture of the net's size gets a margin of zero pixels to crop from; one that was resized has a margin.
Framing random_crop(int height, int width, const TransformOptions& options, const Words& words) {
  const int size = options.image_size;
  Framing framing = resize_for_crop(height, width, options);
  const int padding = height == size && width == size ? std::max(1, size / 8) : 0;
  framing.top = below(words[1], framing.resized_height + 2 * padding - size + 1) - padding;
  framing.left = below(words[2], framing.resized_width + 2 * padding - size + 1) - padding;
  return framing;
}

// As torchvision's RandomResizedCrop: ten attempts at a window with a share of the area between 0.08 and 1
// and a ratio of width to height between 3/4 and 4/3, uniform in its logarithm. If none fits, the largest
// centred window whose ratio is allowed.
Framing random_resized_crop(int height, int width, const TransformOptions& options, const Philox& random) {
  constexpr std::uint32_t kAttempts = 10;
  constexpr double kMinArea = 0.08, kMaxArea = 1, kMinRatio = 3.0 / 4.0, kMaxRatio = 4.0 / 3.0;
  Framing framing;
  framing.resized_height = framing.resized_width = options.image_size;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Words words = random.block(1 + attempt);
    const double area = static_cast<double>(height) * width * uniform(words[0], kMinArea, kMaxArea);
    const double ratio = std::exp(uniform(words[1], std::log(kMinRatio), std::log(kMaxRatio)));
    framing.source_width = rounded(std::sqrt(area * ratio));
    framing.source_height = rounded(std::sqrt(area / ratio));
    if (framing.source_width <= 0 || framing.source_width > width || framing.source_height <= 0 ||
        framing.source_height > height)
      continue;
    framing.source_top = below(words[2], height - framing.source_height + 1);
    framing.source_left = below(words[3], width - framing.source_width + 1);
    return framing;
  }
  const double ratio = static_cast<double>(width) / height;
  framing.source_height = ratio < kMinRatio ? std::max(1, rounded(width / kMinRatio)) : height;
  framing.source_width = ratio > kMaxRatio ? std::max(1, rounded(height * kMaxRatio)) : width;
  framing.source_top = (height - framing.source_height) / 2;
  framing.source_left = (width - framing.source_width) / 2;
  return framing;
}

}  // namespace

Framing frame_sample(int height, int width, const TransformOptions& options, std::uint32_t epoch,
                     std::int64_t sample) {
  if (!options.training || options.augment == Augment::none) return center_crop(height, width, options);
  const Philox random(options.seed, RandomStream::augmentation, epoch, static_cast<std::uint64_t>(sample));
  const Words words = random.block(0);
  Framing framing;
  bool may_flip = true;
  switch (options.augment) {
    case Augment::none:
    case Augment::flip:
      framing = center_crop(height, width, options);
      break;
    case Augment::crop:
      may_flip = false;
      [[fallthrough]];
    case Augment::crop_flip:
      framing = random_crop(height, width, options, words);
      break;
    case Augment::resized_crop:
      framing = random_resized_crop(height, width, options, random);
      break;
  }
  framing.flip = may_flip && (words[0] >> 31) != 0;
  return framing;
}

}  // namespace trireme
