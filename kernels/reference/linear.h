// SPDX-License-Identifier: Apache-2.0
// The oracle for linear layers, and for the reordering that makes features of pictures.
#pragma once

#include <cstdint>

namespace trireme::reference {

struct LinearShape {
  std::int64_t batch, in, out;
};

/// y[n,o] = bias[o] + sum_i x[n,i] weight[o,i]. `bias` may be null.
template <typename T>
void linear_forward(T* y, const T* x, const T* weight, const T* bias, const LinearShape& shape);
/// dx of linear_forward; written.
template <typename T>
void linear_backward_data(T* dx, const T* dy, const T* weight, const LinearShape& shape);
/// dweight and, where not null, dbias; written.
template <typename T>
void linear_backward_weights(T* dweight, T* dbias, const T* x, const T* dy, const LinearShape& shape);

/// [batch,h,w,c] to [batch, c*h*w] in the order c,h,w.
template <typename T>
void flatten_forward(T* y, const T* x, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c);
/// The way back, which is the gradient of a permutation.
template <typename T>
void flatten_backward(T* dx, const T* dy, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c);

}  // namespace trireme::reference
