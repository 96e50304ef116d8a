// SPDX-License-Identifier: Apache-2.0
// The oracle for batch normalisation over `values` = N*H*W rows of `channels` each (dense NHWC).
#pragma once

#include <cstdint>

namespace trireme::reference {

struct BatchNormShape {
  std::int64_t values, channels;
  double epsilon;
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift with the batch's own statistics, which are
/// returned: `mean` and the biased `variance` (divided by `values`), [channels] each.
template <typename T>
void batch_norm_forward_training(T* y, T* mean, T* variance, const T* x, const T* scale, const T* shift,
                                 const BatchNormShape& shape);

/// The same with given statistics.
template <typename T>
void batch_norm_forward_inference(T* y, const T* x, const T* scale, const T* shift, const T* mean,
                                  const T* variance, const BatchNormShape& shape);

/// Gradients of the training forward; `mean` and `variance` as that returned them. All are written.
template <typename T>
void batch_norm_backward(T* dx, T* dscale, T* dshift, const T* dy, const T* x, const T* scale, const T* mean,
                         const T* variance, const BatchNormShape& shape);

}  // namespace trireme::reference
