// SPDX-License-Identifier: Apache-2.0
// What sums of products on tensor cores may differ by from float64.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/numeric.h"

namespace trireme::test {

/// The types that products are built for.
using ProductTypes = ::testing::Types<simt::BFloat16, simt::Half, simt::Tf32, float>;

/// As the tensor core reads it: tf32 operands lose 13 bits, rounded to nearest, ties away from zero.
template <typename T>
double operand(float value) {
  if constexpr (std::is_same_v<T, simt::Tf32>)
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000U) & 0xFFFFE000U);
  else
    return kernels::to_float(kernels::from_float<T>(value));
}
template <typename T>
std::vector<double> operands(const std::vector<float>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const float value : values) result.push_back(operand<T>(value));
  return result;
}

/// Rounding to T moves a value by half a unit in the last place at most; twice that leaves room for sums next
/// to a tie, which fp32 may put on its other side.
template <typename T>
constexpr double kUnit = 1e-6;
template <>
inline constexpr double kUnit<simt::BFloat16> = 1.0 / 256;
template <>
inline constexpr double kUnit<simt::Half> = 1.0 / 2048;

/// fp32 sums of `terms` products of values up to 1: each addition rounds by 2^-24 of a partial sum, which
/// stays far below `terms` for random signs.
inline double sum_error(double terms) {
  return 1e-6 + terms * 2e-7;
}

inline void expect_near(const std::vector<float>& values, const std::vector<double>& expected,
                        double relative, double absolute, const std::string& what) {
  ASSERT_EQ(values.size(), expected.size()) << what;
  int shown = 0;
  for (std::size_t i = 0; i < values.size() && shown < 5; ++i)
    if (!(std::abs(values[i] - expected[i]) <=
          relative * std::abs(expected[i]) + absolute)) {  // NaN is not near
      ADD_FAILURE() << what << "[" << i << "] is " << values[i] << ", expected " << expected[i];
      ++shown;
    }
}

}  // namespace trireme::test
