// SPDX-License-Identifier: Apache-2.0
// The oracle for ops that work element by element: ReLU, addition, dropout with a given mask.
#pragma once

#include <cstdint>

namespace trireme::reference {

/// y = max(x, 0); NaN stays NaN.
template <typename T>
void relu_forward(T* y, const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? T{0} : x[i];
}

/// dx = dy where the output y > 0, else 0: at zero the derivative is taken as 0, as PyTorch does.
template <typename T>
void relu_backward(T* dx, const T* dy, const T* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] > 0 ? dy[i] : T{0};
}

/// z = a + b. The gradient of each summand is the gradient of the sum.
template <typename T>
void add_forward(T* z, const T* a, const T* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) z[i] = a[i] + b[i];
}

/// y = keep ? x / (1 - probability) : 0. Its own backward: the map is linear and diagonal, so dx is made from
/// dy in the same way.
template <typename T>
void dropout(T* y, const T* x, const std::uint8_t* keep, double probability, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = keep[i] != 0 ? static_cast<T>(static_cast<double>(x[i]) / (1 - probability)) : T{0};
}

}  // namespace trireme::reference
