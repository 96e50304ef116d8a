// SPDX-License-Identifier: Apache-2.0
// Short names for what the naive device's passes read and write.
#pragma once

#include <algorithm>

#include "src/device/device.h"

namespace trireme::testing {

using i64 = std::int64_t;
using Request = OpRequest;

inline const float* in(const Bindings& b, std::size_t k = 0) {
  return static_cast<const float*>(b.inputs[k]);
}
inline float* out(const Bindings& b) {
  return static_cast<float*>(b.output);
}
inline const float* dout(const Bindings& b) {
  return static_cast<const float*>(b.output_grad);
}
inline float* din(const Bindings& b, std::size_t k = 0) {
  return static_cast<float*>(b.input_grads[k]);
}
template <typename T>
T* saved(const Bindings& b) {
  return static_cast<T*>(b.saved);
}
inline void store(float* to, double value, bool add) {
  *to = static_cast<float>(add ? static_cast<double>(*to) + value : value);
}
// Of layers that can add: input 0's gradient, and what it already has.
inline void store_input_grad(const Bindings& b, i64 i, double value) {
  const auto* addend = static_cast<const float*>(b.input_grad_addend);
  din(b)[i] = static_cast<float>(value) + (addend != nullptr ? addend[i] : 0.0F);
}
// The gradient before a ReLU that was fused into the op.
inline double masked(const Bindings& b, bool relu, i64 i) {
  return relu && !(out(b)[i] > 0) ? 0.0 : dout(b)[i];
}
inline double rectified(double value, bool relu) {
  return relu ? std::max(value, 0.0) : value;
}

}  // namespace trireme::testing
