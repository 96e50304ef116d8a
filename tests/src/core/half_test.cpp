// SPDX-License-Identifier: Apache-2.0
#include "src/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/core/philox.h"

namespace trireme {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// `value` rounded to `digits` binary digits, ties to even, with the given smallest and largest numbers of
/// the format: arithmetic in float64, no bits.
double rounded(double value, int digits, int smallest_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m 2^exponent, m in [0.5, 1)
  const double unit = std::ldexp(1.0, std::max(exponent - digits, smallest_exponent));
  const double nearest = std::nearbyint(value / unit) * unit;
  return std::abs(nearest) > largest ? std::copysign(HUGE_VAL, value) : nearest;
}

double as_bfloat16(double value) {
  return rounded(value, 8, -133, 0x1.FEp127);
}
double as_float16(double value) {
  return rounded(value, 11, -24, 65504);
}

template <typename Half>
void expect_there_and_back(Half (*narrow)(float)) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(narrow(value)))) << bits;
    } else {
      EXPECT_EQ(narrow(value).bits, bits);
    }
  }
}

TEST(Half, EveryValueComesBack) {
  expect_there_and_back(to_bfloat16);
  expect_there_and_back(to_float16);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(to_float(Float16{0x3C00}), 1.0F);
  EXPECT_EQ(to_float(Float16{0xC000}), -2.0F);
  EXPECT_EQ(to_float(Float16{0x7BFF}), 65504.0F);
  EXPECT_EQ(to_float(Float16{0x0001}), 0x1p-24F);
  EXPECT_EQ(to_float(Float16{0x7C00}), kInfinity);
  EXPECT_EQ(to_float(BFloat16{0x3F80}), 1.0F);
  EXPECT_EQ(to_float(BFloat16{0xFF80}), -kInfinity);
  EXPECT_TRUE(std::signbit(to_float(to_float16(-0.0F))));
  EXPECT_EQ(to_float(to_float16(65519.9F)), 65504.0F);
  EXPECT_EQ(to_float(to_float16(65520.0F)), kInfinity);
}

void expect_rounds_as_the_reference(float value) {
  EXPECT_EQ(to_float(to_bfloat16(value)), static_cast<float>(as_bfloat16(value))) << value;
  EXPECT_EQ(to_float(to_float16(value)), static_cast<float>(as_float16(value))) << value;
}

TEST(Half, RoundsToTheNearestTiesToEven) {
  Philox random(8, 17, 0, 0);
  for (int i = 0; i < 200000; ++i) {  // all exponents, and as many near those of fp16
    const auto any = std::bit_cast<float>((random.next_below(0x10000U) << 16) | random.next_below(0x10000U));
    if (!std::isnan(any)) expect_rounds_as_the_reference(any);
    const float mantissa = static_cast<float>(random.next_below(1U << 24)) * 0x1p-23F;
    expect_rounds_as_the_reference(std::ldexp(mantissa, static_cast<int>(random.next_below(48)) - 28));
  }
  for (std::uint32_t bits = 0; bits < 0x7C00U; ++bits) {  // half way between neighbours
    const float below = to_float(Float16{static_cast<std::uint16_t>(bits)});
    const float above = bits == 0x7BFFU ? 65536.0F : to_float(Float16{static_cast<std::uint16_t>(bits + 1)});
    for (const float side : {0.0F, kInfinity, -kInfinity})
      expect_rounds_as_the_reference(
          std::nextafter((below + above) / 2, side == 0 ? (below + above) / 2 : side));
  }
}

TEST(Half, NotANumberStaysOne) {
  for (const std::uint32_t bits : {0x7F800001U, 0x7FFFFFFFU, 0xFFC00000U, 0xFF800001U}) {
    const auto value = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(value))));
    EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
  }
}

}  // namespace
}  // namespace trireme
