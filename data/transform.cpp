// SPDX-License-Identifier: Apache-2.0
#include "data/transform.h"

#include <algorithm>
#include <array>

#include "data/framing.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::size_t kLevels = 256;

constexpr std::array<AugmentName, 5> kAugments{{
    {Augment::none, "none", "as evaluation sees a picture"},
    {Augment::flip, "flip", "horizontal flip of every second picture, at random"},
    {Augment::crop, "crop", "random crop after zero-padding by an eighth of the size"},
    {Augment::crop_flip, "crop-flip", "crop and flip: the usual recipe for small pictures (CIFAR)"},
    {Augment::resized_crop, "resized-crop",
     "random area (8..100 %) and ratio, resized, and flip: the usual recipe for ImageNet"},
}};

/// ITU-R 601 luma in 16-bit fixed point, as Pillow's mode L.
void to_grey(const Picture& rgb, Picture& grey) {
  grey.resize(rgb.height, rgb.width, 1);
  const std::uint8_t* pixel = rgb.pixels.data();
  for (std::uint8_t& level : grey.pixels) {
    level = static_cast<std::uint8_t>((pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
    pixel += 3;
  }
}

/// What becomes of a level: the net's number of it.
struct Normalise {
  using Value = float;
  const float* table;
  float operator()(int channel, std::uint8_t level) const {
    return table[static_cast<std::size_t>(channel) * kLevels + level];
  }
};
/// Or the level itself.
struct Keep {
  using Value = std::uint8_t;
  std::uint8_t operator()(int /*channel*/, std::uint8_t level) const { return level; }
};

/// `count` output columns of one row, from `pixel` on in steps of `step` values.
template <int kSourceChannels, int kChannels, typename Map>
void write_pixels(const std::uint8_t* pixel, std::ptrdiff_t step, const Map& map, int count,
                  typename Map::Value* out) {
  for (int x = 0; x < count; ++x, pixel += step, out += kChannels)
    for (int c = 0; c < kChannels; ++c) out[c] = map(c, pixel[kSourceChannels == 1 ? 0 : c]);
}

template <typename Map>
void write_zero_pixels(const Map& map, int channels, int count, typename Map::Value* out) {
  for (int x = 0; x < count; ++x)
    for (int c = 0; c < channels; ++c) *out++ = map(c, 0);
}

}  // namespace

std::span<const AugmentName> augment_names() {
  return kAugments;
}

std::string_view augment_name(Augment augment) {
  return std::ranges::find(kAugments, augment, &AugmentName::augment)->name;
}

std::optional<Augment> parse_augment(std::string_view name) {
  const auto found = std::ranges::find(kAugments, name, &AugmentName::name);
  if (found == kAugments.end()) return std::nullopt;
  return found->augment;
}

Transform::Transform(TransformOptions options) : options_(std::move(options)) {
  if (options_.image_size <= 0)
    throw make_error(Status::configuration, "an image size of {} is not possible", options_.image_size);
  if (options_.channels != 1 && options_.channels != 3)
    throw make_error(Status::configuration, "pictures have 1 or 3 channels, not {}", options_.channels);
  if (!(options_.crop_ratio > 0 && options_.crop_ratio <= 1))
    throw make_error(Status::configuration, "a crop ratio of {} is not in (0, 1]", options_.crop_ratio);
  const auto channels = static_cast<std::size_t>(options_.channels);
  if (options_.mean.size() != channels || options_.std.size() != channels)
    throw make_error(Status::configuration,
                     "{} channels need as many means and deviations, but there are {} and {}", channels,
                     options_.mean.size(), options_.std.size());
  normalised_.resize(channels * kLevels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double deviation = options_.std[c] > 0 ? options_.std[c] : 1;
    for (std::size_t level = 0; level < kLevels; ++level)
      normalised_[c * kLevels + level] =
          static_cast<float>((static_cast<double>(level) / 255 - options_.mean[c]) / deviation);
  }
}

/// The part of `source` that begins at row `top`, column `left`, mirrored if `flip`; zero pixels beyond it.
struct Transform::Window {
  PictureView source;
  int top = 0, left = 0;
  bool flip = false;
};

Transform::Window Transform::window_of(const Picture& picture, std::uint32_t epoch, std::int64_t sample,
                                       TransformScratch& scratch) const {
  TRIREME_ASSERT(picture.height > 0 && picture.width > 0, "a picture has pixels");
  TRIREME_ASSERT(picture.channels == 1 || picture.channels == 3, "pictures are grey or RGB");
  const bool make_grey = picture.channels == 3 && options_.channels == 1;
  if (make_grey) to_grey(picture, scratch.grey);

  const Framing framing = frame_sample(picture.height, picture.width, options_, epoch, sample);
  const PictureView source =
      PictureView(make_grey ? scratch.grey : picture)
          .window(framing.source_top, framing.source_left, framing.source_height, framing.source_width);
  if (!framing.resizes()) return {source, framing.top, framing.left, framing.flip};
  const ResizeTarget target{framing.resized_height, framing.resized_width, framing.top,
                            framing.left,           options_.image_size,   options_.image_size};
  resize_bilinear(source, target, scratch.resized, scratch.resize);
  return {PictureView(scratch.resized), 0, 0, framing.flip};
}

template <typename Map>
void Transform::write(const Window& window, const Map& map, typename Map::Value* out) const {
  const PictureView& source = window.source;
  const int size = options_.image_size, channels = options_.channels, left = window.left;
  const auto write_row = channels == 1          ? write_pixels<1, 1, Map>
                         : source.channels == 1 ? write_pixels<1, 3, Map>
                                                : write_pixels<3, 3, Map>;
  // Source columns [from, to) are seen; the first of them in output order lies behind `before` zero pixels.
  const int from = std::clamp(left, 0, source.width), to = std::clamp(left + size, from, source.width);
  const int before = window.flip ? left + size - to : from - left;
  const int seen = to - from;
  const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(window.flip ? to - 1 : from) * source.channels;
  const std::ptrdiff_t step = window.flip ? -source.channels : source.channels;
  for (int y = 0; y < size; ++y, out += static_cast<std::ptrdiff_t>(size) * channels) {
    const int row = window.top + y;
    if (row < 0 || row >= source.height) {
      write_zero_pixels(map, channels, size, out);
      continue;
    }
    write_zero_pixels(map, channels, before, out);
    write_row(source.pixels + row * source.row_bytes + start, step, map, seen, out + before * channels);
    write_zero_pixels(map, channels, size - before - seen, out + (before + seen) * channels);
  }
}

void Transform::apply(const Picture& picture, std::uint32_t epoch, std::int64_t sample, float* out,
                      TransformScratch& scratch) const {
  write(window_of(picture, epoch, sample, scratch), Normalise{normalised_.data()}, out);
}

void Transform::apply(const Picture& picture, std::uint32_t epoch, std::int64_t sample, float* out) const {
  TransformScratch scratch;
  apply(picture, epoch, sample, out, scratch);
}

void Transform::frame(const Picture& picture, std::uint32_t epoch, std::int64_t sample, std::uint8_t* out,
                      TransformScratch& scratch) const {
  write(window_of(picture, epoch, sample, scratch), Keep(), out);
}

}  // namespace trireme
