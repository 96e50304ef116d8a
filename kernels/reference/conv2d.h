// SPDX-License-Identifier: Apache-2.0
// The oracle for convolutions: one loop per index, sums in float64. Dense NHWC pictures, OHWI weights.
#pragma once

#include <cstdint>

namespace trireme::reference {

struct Conv2dShape {
  std::int64_t batch, in_h, in_w, in_channels;
  std::int64_t out_channels, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  /// floor((in + 2 pad - kernel) / stride) + 1
  std::int64_t out_h() const { return (in_h + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t out_w() const { return (in_w + 2 * pad_w - kernel_w) / stride_w + 1; }
};

/// y[n,oh,ow,o] = bias[o] + sum x[n, oh*stride - pad + kh, ow*stride - pad + kw, i] w[o,kh,kw,i]; elements
/// outside the picture are zero. `bias` may be null.
template <typename T>
void conv2d_forward(T* y, const T* x, const T* weight, const T* bias, const Conv2dShape& shape);

/// dx of conv2d_forward; written.
template <typename T>
void conv2d_backward_data(T* dx, const T* dy, const T* weight, const Conv2dShape& shape);

/// dweight and, where not null, dbias of conv2d_forward; written.
template <typename T>
void conv2d_backward_weights(T* dweight, T* dbias, const T* x, const T* dy, const Conv2dShape& shape);

}  // namespace trireme::reference
