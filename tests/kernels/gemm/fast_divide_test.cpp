// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_divide.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace trireme::kernels {
namespace {

constexpr int kMax = std::numeric_limits<int>::max();

void expect_division(int dividend, int divisor) {
  int remainder = -1;
  const int quotient = FastDivide(divisor).divide(dividend, remainder);
  ASSERT_EQ(quotient, dividend / divisor) << dividend << " / " << divisor;
  ASSERT_EQ(remainder, dividend % divisor) << dividend << " / " << divisor;
}

TEST(FastDivide, IsDivisionForSmallNumbers) {
  for (int divisor = 1; divisor < 300; ++divisor)
    for (int dividend = 0; dividend < 1000; ++dividend) expect_division(dividend, divisor);
}

// Errors of a multiplier show first next to multiples of the divisor, and for the largest dividends.
TEST(FastDivide, IsDivisionAroundMultiplesAndAtTheEnd) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> any(1, kMax), bits(0, 30);
  for (int i = 0; i < 20000; ++i) {
    const int divisor = (any(random) >> bits(random)) | 1 << bits(random);
    const std::int64_t multiple = static_cast<std::int64_t>(any(random)) / divisor * divisor;
    for (const std::int64_t dividend : {multiple - 1, multiple, multiple + 1, std::int64_t{kMax}})
      if (dividend >= 0 && dividend <= kMax) expect_division(static_cast<int>(dividend), divisor);
  }
  for (const int divisor : {1, 2, 3, 7, 1 << 16, 1 << 30, kMax - 1, kMax})
    for (const int dividend : {0, 1, divisor - 1, divisor, kMax - 1, kMax})
      expect_division(dividend, divisor);
}

}  // namespace
}  // namespace trireme::kernels
