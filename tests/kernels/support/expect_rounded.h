// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/numeric.h"

namespace trireme::test {

/// What rounding to nearest changes at most, relative to the number: half a unit in the last of 8, 11 or 24
/// bits.
template <typename T>
inline constexpr double kRoundoff = 0x1p-24;
template <>
inline constexpr double kRoundoff<kernels::BFloat16> = 0x1p-8;
template <>
inline constexpr double kRoundoff<kernels::Half> = 0x1p-11;

/// Every number is the expected one rounded to T, give or take `slack` that fp32 arithmetic before the
/// rounding may have cost. NaN never is.
template <typename T>
void expect_rounded(const std::vector<float>& actual, const std::vector<double>& expected, double slack,
                    const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    ASSERT_TRUE(difference <= kRoundoff<T> * std::abs(expected[i]) + slack)
        << what << ", element " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

inline std::vector<double> widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace trireme::test
