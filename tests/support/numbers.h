// SPDX-License-Identifier: Apache-2.0
// Numbers for tests of gradients: seeded random values and central finite differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace trireme::testing {

/// Uniform in [-1, 1), the same on every machine.
template <typename T>
std::vector<T> random_values(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<double>(random()) * 0x1p-31 - 1.0);
  return values;
}

/// sum of a[i] b[i] in float64: with b the gradient of the output, a scalar whose gradient backward must
/// give.
template <typename T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// (f(x + h e_i) - f(x - h e_i)) / 2h for each element i of x, which f reads.
template <typename T>
std::vector<double> central_differences(std::vector<T>& x, double h, const std::function<double()>& f) {
  std::vector<double> gradient;
  for (T& element : x) {
    const T kept = element;
    element = static_cast<T>(static_cast<double>(kept) + h);
    const double above = f();
    element = static_cast<T>(static_cast<double>(kept) - h);
    const double below = f();
    element = kept;
    gradient.push_back((above - below) / (2 * h));
  }
  return gradient;
}

/// Every |actual - expected| within tolerance * (1 + the largest |expected|). NaN never is.
template <typename A, typename B>
void expect_close(const std::vector<A>& actual, const std::vector<B>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (const B& value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    ASSERT_TRUE(difference <= tolerance * (1 + largest))
        << what << ", element " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

}  // namespace trireme::testing
