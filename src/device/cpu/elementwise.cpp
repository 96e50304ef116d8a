// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/elementwise.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "src/core/multiversion.h"

namespace trireme::cpu {
namespace {

// `omp simd` says that no element depends on another one, which lets a buffer be worked on in place.

TRIREME_MULTIVERSION void relu_range(float* y, const float* x, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

TRIREME_MULTIVERSION void relu_gradient_range(float* dx, const float* dy, const float* y, std::int64_t begin,
                                              std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
}

TRIREME_MULTIVERSION void add_range(float* z, const float* a, const float* b, std::int64_t begin,
                                    std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) z[i] = a[i] + b[i];
}

TRIREME_MULTIVERSION void add_relu_range(float* z, const float* a, const float* b, std::int64_t begin,
                                         std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float sum = a[i] + b[i];
    z[i] = sum < 0 ? 0 : sum;
  }
}

TRIREME_MULTIVERSION void masked_scale_range(float* y, const float* x, const std::uint8_t* keep, float scale,
                                             std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) y[i] = keep[i] != 0 ? x[i] * scale : 0;
}

/// Calls body(begin, end) for one range per thread; short buffers are not worth waking threads for.
template <typename Body>
void over_threads(std::int64_t count, const Body& body) {
  constexpr std::int64_t kWorthThreads = 16384, kLine = 16;
  if (count < kWorthThreads) {
    body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const std::int64_t share = ((count + threads - 1) / threads + kLine - 1) / kLine * kLine;
    const std::int64_t begin = std::min(count, thread * share), end = std::min(count, begin + share);
    body(begin, end);
  }
}

}  // namespace

void relu(float* y, const float* x, std::int64_t count) {
  over_threads(count, [=](std::int64_t begin, std::int64_t end) { relu_range(y, x, begin, end); });
}

void relu_gradient(float* dx, const float* dy, const float* y, std::int64_t count) {
  over_threads(count,
               [=](std::int64_t begin, std::int64_t end) { relu_gradient_range(dx, dy, y, begin, end); });
}

void add(float* z, const float* a, const float* b, std::int64_t count) {
  over_threads(count, [=](std::int64_t begin, std::int64_t end) { add_range(z, a, b, begin, end); });
}

void add_relu(float* z, const float* a, const float* b, std::int64_t count) {
  over_threads(count, [=](std::int64_t begin, std::int64_t end) { add_relu_range(z, a, b, begin, end); });
}

void masked_scale(float* y, const float* x, const std::uint8_t* keep, float scale, std::int64_t count) {
  over_threads(count, [=](std::int64_t begin, std::int64_t end) {
    masked_scale_range(y, x, keep, scale, begin, end);
  });
}

void copy(float* y, const float* x, std::int64_t count) {
  if (y == x) return;
  over_threads(count, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(y + begin, x + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

void store_gradient(float* gradient, const float* value, std::int64_t count, bool accumulate) {
  if (accumulate)
    add(gradient, gradient, value, count);
  else
    copy(gradient, value, count);
}

}  // namespace trireme::cpu
