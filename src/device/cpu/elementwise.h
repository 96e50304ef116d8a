// SPDX-License-Identifier: Apache-2.0
// Loops over physical fp32 buffers, split over the OpenMP threads. Outputs may be the same memory as any
// input. Zero padding of blocked channels stays zero in each of them.
#pragma once

#include <cstdint>

namespace trireme::cpu {

/// y = max(x, 0); NaN stays NaN.
void relu(float* y, const float* x, std::int64_t count);
/// dx = dy where the ReLU's output y > 0, else 0.
void relu_gradient(float* dx, const float* dy, const float* y, std::int64_t count);
/// z = a + b
void add(float* z, const float* a, const float* b, std::int64_t count);
/// z = max(a + b, 0)
void add_relu(float* z, const float* a, const float* b, std::int64_t count);
/// y = keep ? x * scale : 0
void masked_scale(float* y, const float* x, const std::uint8_t* keep, float scale, std::int64_t count);
void copy(float* y, const float* x, std::int64_t count);
/// gradient = value, or gradient += value.
void store_gradient(float* gradient, const float* value, std::int64_t count, bool accumulate);

}  // namespace trireme::cpu
