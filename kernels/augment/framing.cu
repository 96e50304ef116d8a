// SPDX-License-Identifier: Apache-2.0
#include "kernels/augment/framing.cuh"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trireme::kernels {
namespace {

int rounded_on_host(double value) {
  return static_cast<int>(std::nearbyint(value));
}

void check(bool is_right, const char* what) {
  if (!is_right) throw std::invalid_argument(what);
}

}  // namespace

FramingPlan plan_framing(const AugmentShape& shape, const AugmentOptions& options) {
  const int height = shape.height, width = shape.width, size = shape.image_size;
  check(height > 0 && width > 0 && size > 0, "augment: pictures have pixels");
  check((shape.channels == 1 || shape.channels == 3) && (shape.out_channels == 1 || shape.out_channels == 3),
        "augment: pictures have 1 or 3 channels");
  check(options.crop_ratio > 0 && options.crop_ratio <= 1, "augment: a crop ratio lies in (0, 1]");
  const bool is_net_size = height == size && width == size;
  const int shorter = is_net_size ? size : std::max(size, rounded_on_host(size / options.crop_ratio));
  const auto longer = [&](int side, int other) {
    return static_cast<int>(static_cast<std::int64_t>(shorter) * side / other);
  };
  Framing center{0,
                 0,
                 height,
                 width,
                 height <= width ? shorter : longer(height, width),
                 width <= height ? shorter : longer(width, height),
                 0,
                 0,
                 0};
  center.top = rounded_on_host((center.resized_height - size) / 2.0);
  center.left = rounded_on_host((center.resized_width - size) / 2.0);
  return {options.kind,       size, is_net_size ? std::max(1, size / 8) : 0, center, std::log(3.0 / 4.0),
          std::log(4.0 / 3.0)};
}

}  // namespace trireme::kernels
