// SPDX-License-Identifier: Apache-2.0
// From a decoded picture to normalised fp32: resize, crop, augmentation. Randomness is Philox keyed by
// (seed, epoch, sample), so it depends on neither rank nor thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture.h"

namespace trireme {

enum class Augment {
  none,          ///< training sees what evaluation sees
  flip,          ///< horizontal flip with probability 1/2
  crop,          ///< zero-pad by size/8, random crop
  crop_flip,     ///< both: the usual recipe for CIFAR
  resized_crop   ///< random-resized-crop (area 0.08..1, ratio 3/4..4/3) and flip: the usual recipe for ImageNet
};

struct TransformOptions {
  int image_size = 0;               ///< output is image_size x image_size
  int channels = 3;
  bool training = true;             ///< false: resize + centre crop only
  Augment augment = Augment::none;
  std::vector<double> mean, std;    ///< in 0..1, of the training file
  std::uint64_t seed = 0;
  /// Evaluation of pictures that are not image_size already: the shorter side is resized to
  /// image_size / crop_ratio, then the centre is cropped.
  double crop_ratio = 0.875;
};

class Transform {
 public:
  explicit Transform(TransformOptions options);
  const TransformOptions& options() const { return options_; }
  /// Writes image_size * image_size * channels floats, HWC.
  void apply(const Picture& picture, std::uint32_t epoch, std::int64_t sample, float* out) const;

 private:
  TransformOptions options_;
};

/// Antialiased bilinear resize (triangle filter widened when shrinking), within one level of Pillow's BILINEAR.
void resize_bilinear(const Picture& source, int height, int width, Picture& destination);

}  // namespace trireme
