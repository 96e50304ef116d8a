// SPDX-License-Identifier: Apache-2.0
// Host side: checks a convolution's shape and translates it into what the kernels take.
#pragma once

#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/picture_loader.cuh"

namespace trireme::kernels {

/// Throws std::invalid_argument where the shape is none, or its offsets do not fit the kernels' 32-bit
/// counts.
template <typename T>
void check_conv2d(const Conv2dShape& shape);

/// Pixels of 8 bytes: the loaders for stems take them.
template <typename T>
bool is_stem(const Conv2dShape& shape) {
  return sizeof(T) == 2 && shape.in_pitch == 4;
}

/// Taps of a row of packed weights.
template <typename T>
std::int64_t packed_taps_w(const Conv2dShape& shape) {
  return is_stem<T>(shape) ? round_up<std::int64_t>(shape.kernel_w, 2) : shape.kernel_w;
}

/// Elements that belong to one output channel in the packed weights.
template <typename T>
std::int64_t packed_row(const Conv2dShape& shape) {
  return shape.kernel_h * packed_taps_w<T>(shape) * shape.in_pitch;
}

template <typename T>
Picture input_picture(const T* x, const Conv2dShape& shape) {
  return {x, static_cast<int>(shape.in_h), static_cast<int>(shape.in_w),
          static_cast<int>(shape.in_pitch) / kVectorSize<T>};
}

/// Windows over the input, one for each output pixel.
inline WindowGrid output_grid(const Conv2dShape& shape) {
  return {FastDivide(static_cast<int>(shape.out_h())),
          FastDivide(static_cast<int>(shape.out_w())),
          static_cast<int>(shape.out_pixels()),
          static_cast<int>(shape.stride_h),
          static_cast<int>(shape.stride_w),
          static_cast<int>(-shape.pad_h),
          static_cast<int>(-shape.pad_w),
          static_cast<int>(shape.kernel_h),
          static_cast<int>(shape.kernel_w)};
}

}  // namespace trireme::kernels
