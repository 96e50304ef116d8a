// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d/geometry.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace trireme::kernels {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("conv2d: ") + what);
}

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxPlace = std::numeric_limits<std::int16_t>::max();

}  // namespace

template <typename T>
void check_conv2d(const Conv2dShape& s) {
  require(s.batch >= 0 && s.in_h > 0 && s.in_w > 0 && s.in_channels > 0 && s.out_channels > 0,
          "empty picture");
  require(
      s.kernel_h > 0 && s.kernel_w > 0 && s.stride_h > 0 && s.stride_w > 0 && s.pad_h >= 0 && s.pad_w >= 0,
      "kernel and stride are positive, padding is not negative");
  require(s.in_h + 2 * s.pad_h >= s.kernel_h && s.in_w + 2 * s.pad_w >= s.kernel_w,
          "the kernel is larger than the padded picture");
  require(s.in_pitch >= s.in_channels && s.out_pitch >= s.out_channels, "a pitch is below its channels");
  require(s.out_pitch % kVectorSize<T> == 0, "the output's pitch is no multiple of 16 bytes");
  require(s.in_pitch % kVectorSize<T> == 0 || is_stem<T>(s), "the input's pitch is no multiple of 16 bytes");
  // Places of windows, relative to the picture, are kept in 16 bits each, with room for a kernel's taps.
  require(s.in_h + 2 * s.pad_h + s.kernel_h + s.stride_h <= kMaxPlace &&
              s.in_w + 2 * s.pad_w + s.kernel_w + s.stride_w <= kMaxPlace,
          "the picture is too large");
  constexpr int kVector = kVectorSize<T>;
  const std::int64_t tile = 128;  // positions are counted up to the end of the last tile
  require(s.in_pixels() * divide_up<std::int64_t>(s.in_pitch, kVector) <= kMaxCount - tile &&
              s.out_pixels() * (s.out_pitch / kVector) <= kMaxCount - tile &&
              s.out_channels * packed_row<T>(s) / kVector <= kMaxCount - tile,
          "more than 32 GiB in a tensor");
}

template void check_conv2d<BFloat16>(const Conv2dShape&);
template void check_conv2d<Half>(const Conv2dShape&);
template void check_conv2d<Tf32>(const Conv2dShape&);
template void check_conv2d<float>(const Conv2dShape&);

}  // namespace trireme::kernels
