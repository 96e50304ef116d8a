// SPDX-License-Identifier: Apache-2.0
// The oracle for max pooling, average pooling and adaptive average pooling. Dense NHWC pictures.
#pragma once

#include <cstdint>

namespace trireme::reference {

/// Windows of a fixed size, each with at least one element inside of the picture.
struct PoolShape {
  std::int64_t batch, in_h, in_w, channels;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  std::int64_t out_h() const { return (in_h + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t out_w() const { return (in_w + 2 * pad_w - kernel_w) / stride_w + 1; }
};

/// Largest element of each window; `places` gets the row h * in_w + w of the first largest one in row order.
/// A window with a NaN gives NaN, and the place of the first.
template <typename T>
void max_pool_forward(T* y, std::int64_t* places, const T* x, const PoolShape& shape);
/// dx; written. `places` as forward gave them.
template <typename T>
void max_pool_backward(T* dx, const T* dy, const std::int64_t* places, const PoolShape& shape);

/// Mean of each window: over all kernel_h * kernel_w elements, those outside of the picture being zero, if
/// `count_include_pad`, else over the ones inside.
template <typename T>
void avg_pool_forward(T* y, const T* x, const PoolShape& shape, bool count_include_pad);
/// dx; written.
template <typename T>
void avg_pool_backward(T* dx, const T* dy, const PoolShape& shape, bool count_include_pad);

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
