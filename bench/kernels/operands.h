// SPDX-License-Identifier: Apache-2.0
// Operands of benchmarks, and how results are compared.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/numeric.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::bench {

template <typename T>
using Array = std::shared_ptr<test::DeviceArray<T>>;

template <typename T>
Array<T> make_array(std::int64_t count) {
  return std::make_shared<test::DeviceArray<T>>(static_cast<std::size_t>(count));
}
template <typename T>
Array<T> make_array(const std::vector<T>& values) {
  return std::make_shared<test::DeviceArray<T>>(values);
}
/// Values between -1 and 1 in `rows` rows of `pitch`. The first 4096 rows are repeated, which costs the host
/// less time.
template <typename T>
Array<T> random_array(std::int64_t rows, std::int64_t channels, std::int64_t pitch, unsigned seed) {
  constexpr std::int64_t kDistinct = 4096;
  const std::int64_t distinct = rows < kDistinct ? rows : kDistinct;
  const std::vector<T> some =
      test::with_pitch<T>(test::random_rows<T>(distinct, channels, seed), channels, pitch);
  auto array = make_array<T>(rows * pitch);
  for (std::int64_t row = 0; row < rows; row += distinct) {
    const std::int64_t count = (rows - row < distinct ? rows - row : distinct) * pitch;
    test::check_cuda(cudaMemcpy(array->data() + row * pitch, some.data(),
                                static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice),
                     "cudaMemcpy");
  }
  return array;
}

/// Largest error relative to the size of the expected values; for checks a limit on it.
inline std::string compare(const char* what, const std::vector<float>& made,
                           const std::vector<double>& expected, double limit) {
  double size = 0, worst = 0;
  for (const double value : expected) size = std::max(size, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(made[i]) - expected[i]);
    if (!(error <= worst)) worst = error;  // NaN too
  }
  if (worst <= limit * size) return {};
  return std::string(what) + " differs by " + std::to_string(worst) + " from values up to " +
         std::to_string(size);
}

template <typename T>
std::vector<float> dense_values(const test::DeviceArray<T>& array, std::int64_t channels,
                                std::int64_t pitch) {
  bool pad_is_zero = true;
  return test::without_pitch(array.to_host(), channels, pitch, pad_is_zero);
}

inline std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace trireme::bench
