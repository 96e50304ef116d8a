// SPDX-License-Identifier: Apache-2.0
// Pooling of NHWC pictures with channel pitch: max, average, adaptive average (with an output of 1x1:
// global). T is BFloat16, Half or float; sums are fp32. All outputs are written; backward is a gather, so its
// sums have one order. Pad channels are read as zeros and become zeros.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

/// Windows of a fixed size. Padding is at most half the window, so that none lies outside of the picture;
/// other shapes are refused with std::invalid_argument.
struct Pool2dShape {
  int batch, in_h, in_w, pitch;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  /// floor((in + 2 pad - kernel) / stride) + 1
  int out_h() const { return (in_h + 2 * pad_h - kernel_h) / stride_h + 1; }
  int out_w() const { return (in_w + 2 * pad_w - kernel_w) / stride_w + 1; }
};

/// y [batch, out_h, out_w, pitch]: the largest element of each window; a window with a NaN gives NaN.
/// `places`, one byte for each element of y, gets where it was, kernel_w row + column in the window: the
/// first largest one in row order, or the first NaN. Windows have at most 255 elements. `places` is 8-byte
/// aligned; null in inference. With `after_relu` x is what a ReLU gave, and backward makes the gradient of
/// what it got: a window whose largest element is not positive has no place (255), so the ReLU needs no pass.
template <typename T>
void max_pool2d_forward(T* y, std::uint8_t* places, const T* x, const Pool2dShape& shape, cudaStream_t stream,
                        bool after_relu = false);
/// dx [batch, in_h, in_w, pitch]: an element gets the gradients of the windows that it is the place of.
template <typename T>
void max_pool2d_backward(T* dx, const T* dy, const std::uint8_t* places, const Pool2dShape& shape,
                         cudaStream_t stream);

/// The mean of each window: over kernel_h * kernel_w elements with zeros outside of the picture if
/// `count_include_pad`, else over those inside.
template <typename T>
void avg_pool2d_forward(T* y, const T* x, const Pool2dShape& shape, bool count_include_pad,
                        cudaStream_t stream);
template <typename T>
void avg_pool2d_backward(T* dx, const T* dy, const Pool2dShape& shape, bool count_include_pad,
                         cudaStream_t stream);

/// Window i of an axis reaches from floor(i in / out) up to ceil((i + 1) in / out).
struct AdaptivePool2dShape {
  int batch, in_h, in_w, out_h, out_w, pitch;
};
template <typename T>
void adaptive_avg_pool2d_forward(T* y, const T* x, const AdaptivePool2dShape& shape, cudaStream_t stream);
template <typename T>
void adaptive_avg_pool2d_backward(T* dx, const T* dy, const AdaptivePool2dShape& shape, cudaStream_t stream);

}  // namespace trireme::kernels
