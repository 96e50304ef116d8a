// SPDX-License-Identifier: Apache-2.0
// Ops that work element by element over whole buffers, pad channels included: zeros stay zeros in each of
// them. T is BFloat16, Half or float. `count` elements fill whole 16-byte vectors, but for fill. Outputs may
// be the same memory as any input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

/// y = max(x, 0); NaN stays NaN.
template <typename T>
void relu_forward(T* y, const T* x, std::int64_t count, cudaStream_t stream);
/// dx = dy where the output y > 0, else 0: the derivative at zero is taken as 0. Also the gradient of both
/// summands of add_forward with ReLU; without it that is dz itself.
template <typename T>
void relu_backward(T* dx, const T* dy, const T* y, std::int64_t count, cudaStream_t stream);
/// z = a + b [then ReLU], rounded once.
template <typename T>
void add_forward(T* z, const T* a, const T* b, bool relu, std::int64_t count, cudaStream_t stream);
/// to[i] = value. Any count; `to` is 16-byte aligned.
template <typename T>
void fill(T* to, float value, std::int64_t count, cudaStream_t stream);

/// Pictures and the features that they become. `pitch` and `feature_pitch` (at least pixels * channels) are
/// whole 16-byte vectors.
struct FlattenShape {
  int batch, pixels;  ///< pixels of a picture: H * W
  int channels, pitch, feature_pitch;
};
/// y [batch, feature_pitch]: y[n, c * pixels + p] = x[n, p, c], zeros behind the last feature.
template <typename T>
void flatten_forward(T* y, const T* x, const FlattenShape& shape, cudaStream_t stream);
/// dx [batch, pixels, pitch], the way back.
template <typename T>
void flatten_backward(T* dx, const T* dy, const FlattenShape& shape, cudaStream_t stream);

}  // namespace trireme::kernels
