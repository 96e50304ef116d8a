// SPDX-License-Identifier: Apache-2.0
// Resizing as Pillow does it, so that pictures look to a net as they do to one trained elsewhere: a separable
// triangle filter whose support grows with the factor of shrinking (that is the antialiasing), weights in
// 22-bit fixed point, first along rows and then along columns, with an 8-bit picture in between. An axis that
// keeps its size is copied.
#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/core/error.h"

// One build serves every x86-64: the compiler makes the hot loop for several instruction sets, and the loader
// picks. Sanitizers do not get along with the resolvers this needs.
#if defined(__x86_64__) && !defined(TRIREME_SANITIZED)
#define TRIREME_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRIREME_CLONES
#endif

namespace trireme {
namespace {

constexpr int kPrecisionBits = 22;
constexpr std::int32_t kHalf = 1 << (kPrecisionBits - 1);

std::uint8_t to_level(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

/// The nearest integer, halves upwards, as Pillow rounds.
int nearest(double value) {
  return static_cast<int>(std::floor(value + 0.5));
}

/// Weights of result elements [begin, begin + count) of an axis that goes from `source` to `full` elements.
void plan_axis(int source, int full, int begin, int count, ResizeScratch::Axis& axis) {
  const double scale = static_cast<double>(source) / full;
  const double support = std::max(scale, 1.0);  // the triangle's half-width
  const double per_pixel = 1.0 / support;
  axis.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  axis.first.resize(static_cast<std::size_t>(count));
  axis.taps.resize(static_cast<std::size_t>(count));
  axis.weights.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(axis.stride));
  for (int i = 0; i < count; ++i) {
    const double center = (begin + i + 0.5) * scale;
    const int first = std::max(nearest(center - support), 0);
    const int taps = std::min(nearest(center + support), source) - first;
    const auto weight_at = [&](int tap) {
      return std::max(0.0, 1.0 - std::abs((tap + first - center + 0.5) * per_pixel));
    };
    double total = 0;
    for (int tap = 0; tap < taps; ++tap) total += weight_at(tap);
    std::int32_t* weights = axis.weights.data() + static_cast<std::ptrdiff_t>(i) * axis.stride;
    for (int tap = 0; tap < taps; ++tap)
      weights[tap] = nearest(weight_at(tap) / total * (1 << kPrecisionBits));
    axis.first[static_cast<std::size_t>(i)] = first;
    axis.taps[static_cast<std::size_t>(i)] = taps;
  }
}

template <int kChannels>
void resize_row(const std::uint8_t* row, const ResizeScratch::Axis& axis, std::uint8_t* out) {
  const std::int32_t* weights = axis.weights.data();
  for (std::size_t i = 0; i < axis.first.size(); ++i, weights += axis.stride, out += kChannels) {
    std::int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    const std::uint8_t* pixel = row + static_cast<std::ptrdiff_t>(axis.first[i]) * kChannels;
    for (int tap = 0; tap < axis.taps[i]; ++tap, pixel += kChannels)
      for (int c = 0; c < kChannels; ++c) sums[c] += pixel[c] * weights[tap];
    for (int c = 0; c < kChannels; ++c) out[c] = to_level(sums[c]);
  }
}

TRIREME_CLONES
void add_weighted(const std::uint8_t* row, std::int32_t weight, std::int32_t* sums, int count) {
  for (int i = 0; i < count; ++i) sums[i] += row[i] * weight;
}

TRIREME_CLONES
void write_levels(const std::int32_t* sums, std::uint8_t* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = to_level(sums[i]);
}

/// Rows of the source, already `target.width` wide, to rows of the destination.
void resize_columns(const PictureView& source, const ResizeScratch::Axis& axis, Picture& destination,
                    std::vector<std::int32_t>& sums) {
  const int row_values = destination.width * destination.channels;
  sums.resize(static_cast<std::size_t>(row_values));
  std::uint8_t* out = destination.pixels.data();
  for (std::size_t i = 0; i < axis.first.size(); ++i, out += row_values) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (int tap = 0; tap < axis.taps[i]; ++tap)
      add_weighted(source.pixels + (axis.first[i] + tap) * source.row_bytes,
                   axis.weights[i * static_cast<std::size_t>(axis.stride) + static_cast<std::size_t>(tap)],
                   sums.data(), row_values);
    write_levels(sums.data(), out, row_values);
  }
}

void copy_rows(const PictureView& source, std::uint8_t* out) {
  const std::size_t bytes =
      static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.channels);
  for (int row = 0; row < source.height; ++row, out += bytes)
    std::memcpy(out, source.pixels + row * source.row_bytes, bytes);
}

void resize_rows(const PictureView& source, const ResizeScratch::Axis& axis, std::uint8_t* out) {
  const auto resize = source.channels == 1 ? resize_row<1> : resize_row<3>;
  const std::size_t bytes = axis.first.size() * static_cast<std::size_t>(source.channels);
  for (int row = 0; row < source.height; ++row, out += bytes)
    resize(source.pixels + row * source.row_bytes, axis, out);
}

}  // namespace

PictureView::PictureView(const Picture& picture)
    : pixels(picture.pixels.data()),
      height(picture.height),
      width(picture.width),
      channels(picture.channels),
      row_bytes(static_cast<std::ptrdiff_t>(picture.width) * picture.channels) {}

PictureView PictureView::window(int top, int left, int window_height, int window_width) const {
  TRIREME_ASSERT(top >= 0 && left >= 0 && top + window_height <= height && left + window_width <= width,
                 "a window lies inside its picture");
  PictureView part = *this;
  part.pixels += top * row_bytes + static_cast<std::ptrdiff_t>(left) * channels;
  part.height = window_height;
  part.width = window_width;
  return part;
}

void resize_bilinear(const PictureView& source, const ResizeTarget& target, Picture& destination,
                     ResizeScratch& scratch) {
  TRIREME_ASSERT(source.height > 0 && source.width > 0 && target.height > 0 && target.width > 0,
                 "empty pictures cannot be resized");
  TRIREME_ASSERT(source.channels == 1 || source.channels == 3, "pictures are grey or RGB");
  TRIREME_ASSERT(target.top >= 0 && target.top + target.height <= target.full_height && target.left >= 0 &&
                     target.left + target.width <= target.full_width,
                 "the part lies inside the resized picture");
  destination.resize(target.height, target.width, source.channels);

  // Only the source rows that the wanted part touches go through the first pass.
  PictureView rows = source;
  const bool same_height = target.full_height == source.height;
  if (same_height) {
    rows = source.window(target.top, 0, target.height, source.width);
  } else {
    plan_axis(source.height, target.full_height, target.top, target.height, scratch.y);
    const int first = scratch.y.first.front();
    rows = source.window(first, 0, scratch.y.first.back() + scratch.y.taps.back() - first, source.width);
    for (int& row : scratch.y.first) row -= first;
  }

  if (target.full_width == source.width) {
    rows = rows.window(0, target.left, rows.height, target.width);
  } else {
    plan_axis(source.width, target.full_width, target.left, target.width, scratch.x);
    const std::size_t bytes = static_cast<std::size_t>(rows.height) * static_cast<std::size_t>(target.width) *
                              static_cast<std::size_t>(source.channels);
    if (!same_height) scratch.intermediate.resize(bytes);
    std::uint8_t* out = same_height ? destination.pixels.data() : scratch.intermediate.data();
    resize_rows(rows, scratch.x, out);
    if (same_height) return;
    rows.pixels = out;
    rows.width = target.width;
    rows.row_bytes = static_cast<std::ptrdiff_t>(target.width) * source.channels;
  }

  if (same_height)
    copy_rows(rows, destination.pixels.data());
  else
    resize_columns(rows, scratch.y, destination, scratch.sums);
}

void resize_bilinear(const Picture& source, int height, int width, Picture& destination) {
  TRIREME_ASSERT(&source != &destination, "a picture cannot be resized in place");
  ResizeScratch scratch;
  resize_bilinear(PictureView(source), {height, width, 0, 0, height, width}, destination, scratch);
}

}  // namespace trireme
