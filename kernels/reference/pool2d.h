// SPDX-License-Identifier: Apache-2.0
// The oracle for max pooling and adaptive average pooling. Dense NHWC pictures.
#pragma once

#include <cstdint>

namespace trireme::reference {

struct MaxPoolShape {
  std::int64_t batch, in_h, in_w, channels;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  std::int64_t out_h() const { return (in_h + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t out_w() const { return (in_w + 2 * pad_w - kernel_w) / stride_w + 1; }
};

/// Largest element of each window; `places` gets the row h * in_w + w of the first largest one in row order.
template <typename T>
void max_pool_forward(T* y, std::int64_t* places, const T* x, const MaxPoolShape& shape);
/// dx; written. `places` as forward gave them.
template <typename T>
void max_pool_backward(T* dx, const T* dy, const std::int64_t* places, const MaxPoolShape& shape);

struct AdaptiveAvgPoolShape {
  std::int64_t batch, in_h, in_w, channels, out_h, out_w;
};

/// Mean over rows floor(i*in_h/out_h) up to ceil((i+1)*in_h/out_h), columns likewise.
template <typename T>
void adaptive_avg_pool_forward(T* y, const T* x, const AdaptiveAvgPoolShape& shape);
/// dx; written.
template <typename T>
void adaptive_avg_pool_backward(T* dx, const T* dy, const AdaptiveAvgPoolShape& shape);

}  // namespace trireme::reference
