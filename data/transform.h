// SPDX-License-Identifier: Apache-2.0
// From a decoded picture to normalised fp32, or to the levels that would have been normalised: resize, crop,
// augmentation. Randomness is Philox keyed by (seed, epoch, sample), so it depends on neither rank nor
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture.h"
#include "data/resize.h"
#include "src/core/augment.h"

namespace trireme {

/// An augmentation as the command line names it, with a line of help.
struct AugmentName {
  Augment augment;
  std::string_view name, help;
};
/// All of them, in the order of the enum.
std::span<const AugmentName> augment_names();
std::string_view augment_name(Augment augment);
std::optional<Augment> parse_augment(std::string_view name);

struct TransformOptions {
  int image_size = 0;  ///< output is image_size x image_size
  int channels = 3;
  bool training = true;  ///< false: resize + centre crop only
  Augment augment = Augment::none;
  std::vector<double> mean, std;  ///< in 0..1, of the training file
  std::uint64_t seed = 0;
  /// Pictures that are not image_size x image_size already: the shorter side is resized to image_size /
  /// crop_ratio, then the centre is cropped; Augment::crop crops at random instead, without padding, for
  /// there is a margin.
  double crop_ratio = 0.875;
};

/// Memory that Transform reuses from picture to picture. One thread at a time.
struct TransformScratch {
  Picture grey, resized;
  ResizeScratch resize;
};

/// Immutable: any number of threads may apply it, each with its own scratch.
class Transform {
 public:
  /// Throws 78 where the options do not fit each other.
  explicit Transform(TransformOptions options);
  const TransformOptions& options() const { return options_; }

  /// Writes image_size * image_size * channels floats, HWC: (level / 255 - mean) / std; a std of 0 (a
  /// constant channel) counts as 1. A grey picture fills all channels of an RGB output; RGB to grey is ITU-R
  /// 601 luma.
  void apply(const Picture& picture, std::uint32_t epoch, std::int64_t sample, float* out,
             TransformScratch& scratch) const;
  /// The same with memory of its own.
  void apply(const Picture& picture, std::uint32_t epoch, std::int64_t sample, float* out) const;

  /// Writes as many levels: those that apply() normalises, so that apply() gives normalised_levels()[c * 256
  /// + level] for each of them, to the bit. Beyond a picture's margin levels are 0.
  void frame(const Picture& picture, std::uint32_t epoch, std::int64_t sample, std::uint8_t* out,
             TransformScratch& scratch) const;
  /// [channels, 256]: what each level becomes.
  std::span<const float> normalised_levels() const { return normalised_; }

 private:
  struct Window;
  Window window_of(const Picture& picture, std::uint32_t epoch, std::int64_t sample,
                   TransformScratch& scratch) const;
  template <typename Map>
  void write(const Window& window, const Map& map, typename Map::Value* out) const;

  TransformOptions options_;
  std::vector<float> normalised_;
};

}  // namespace trireme
