// SPDX-License-Identifier: Apache-2.0
#include "data/pack_geometry.h"

#include <algorithm>

#include "data/transform.h"
#include "src/core/error.h"

namespace trireme {

namespace {

constexpr int kLargestSide = 65535;

/// As of pictures that are decoded: every thread holds a few whole ones.
constexpr std::int64_t kLargestPicture = std::int64_t{1} << 28;

bool is_too_large(int height, int width) {
  return std::int64_t{height} * width > kLargestPicture;
}

void check_size(int height, int width) {
  if (is_too_large(height, width))
    throw make_error(Status::configuration, "pictures of {}x{} pixels; at most 2^28 pixels are supported",
                     height, width);
}

void crop_centre(Picture& picture, int side) {
  const int top = (picture.height - side) / 2, left = (picture.width - side) / 2;
  Picture cropped;
  cropped.resize(side, side, picture.channels);
  const auto row_bytes = static_cast<std::size_t>(side) * static_cast<std::size_t>(picture.channels);
  for (int y = 0; y < side; ++y) {
    const std::size_t first = (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(picture.width) +
                               static_cast<std::size_t>(left)) *
                              static_cast<std::size_t>(picture.channels);
    std::copy_n(
        picture.pixels.begin() + static_cast<std::ptrdiff_t>(first), row_bytes,
        cropped.pixels.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * row_bytes));
  }
  picture = std::move(cropped);
}

}  // namespace

PackGeometry::PackGeometry(const PackOptions& options)
    : resize_(options.resize), crop_(options.crop), size_(options.size) {
  const auto in_range = [](int side) { return side >= 0 && side <= kLargestSide; };
  if (!in_range(resize_) || !in_range(crop_))
    throw make_error(Status::configuration, "a side of {} pixels; 1 to {} are possible",
                     in_range(resize_) ? crop_ : resize_, kLargestSide);
  check_size(resize_, resize_);
  check_size(crop_, crop_);
  if (!size_) return;
  if (resize_ > 0 || crop_ > 0)
    throw make_error(Status::configuration, "size excludes resize and crop")
        .hint("--size HxW alone, or --resize N with --crop N");
  if (size_->height < 1 || size_->width < 1 || !in_range(size_->height) || !in_range(size_->width))
    throw make_error(Status::configuration, "a size of {}x{}; sides of 1 to {} are possible", size_->height,
                     size_->width, kLargestSide);
  check_size(size_->height, size_->width);
}

// The shorter side becomes resize_, the longer one is scaled alike and rounded down, as torchvision does.
PictureShape PackGeometry::resized(const PictureShape& shape) const {
  if (size_) return {size_->height, size_->width, shape.channels};
  if (resize_ == 0) return shape;
  const auto longer = [&](int long_side, int short_side) {
    return static_cast<int>(std::int64_t{resize_} * long_side / short_side);
  };
  if (shape.height <= shape.width) return {resize_, longer(shape.width, shape.height), shape.channels};
  return {longer(shape.height, shape.width), resize_, shape.channels};
}

PictureShape PackGeometry::shape_after(const PictureShape& shape) const {
  PictureShape after = resized(shape);
  if (after.height > kLargestSide || after.width > kLargestSide)
    throw make_error(Status::bad_data,
                     "{}x{} pixels would be resized to {}x{}; sides of up to {} are possible", shape.height,
                     shape.width, after.height, after.width, kLargestSide);
  if (is_too_large(after.height, after.width))
    throw make_error(Status::bad_data,
                     "{}x{} pixels would be resized to {}x{}; at most 2^28 pixels are supported",
                     shape.height, shape.width, after.height, after.width);
  if (crop_ == 0) return after;
  if (crop_ > after.height || crop_ > after.width)
    throw make_error(Status::bad_data, "a crop of {}x{} does not fit in {}x{} pixels", crop_, crop_,
                     after.height, after.width)
        .hint("--resize first");
  return {crop_, crop_, shape.channels};
}

bool PackGeometry::apply(Picture& picture) const {
  const PictureShape before{picture.height, picture.width, picture.channels};
  const PictureShape middle = resized(before), after = shape_after(before);
  if (middle != before) {
    Picture result;
    resize_bilinear(picture, middle.height, middle.width, result);
    picture = std::move(result);
  }
  if (after != middle) crop_centre(picture, crop_);
  return middle != before || after != middle;
}

}  // namespace trireme
