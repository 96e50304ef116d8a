// SPDX-License-Identifier: Apache-2.0
// Casts against the host's conversions of 16-bit numbers, bit for bit.
#include "kernels/cast/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "src/core/half.h"
#include "src/core/philox.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

std::uint16_t host_bits(float value, BFloat16 /*type*/) {
  return to_bfloat16(value).bits;
}
std::uint16_t host_bits(float value, Half /*type*/) {
  return to_float16(value).bits;
}
float host_float(std::uint16_t bits, BFloat16 /*type*/) {
  return trireme::to_float(trireme::BFloat16{bits});
}
float host_float(std::uint16_t bits, Half /*type*/) {
  return trireme::to_float(Float16{bits});
}

/// Numbers of all sizes: subnormal, tie, overflowing, infinite.
std::vector<float> numbers(std::size_t count) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F + 0x1p-8F,
                               1.0F + 3 * 0x1p-8F,
                               1.0F + 0x1p-11F,
                               1.0F + 3 * 0x1p-11F,
                               65504,
                               65519.996F,
                               65520,
                               -1e30F,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               0x1p-24F,
                               0x1p-25F,
                               1.5F * 0x1p-25F,
                               0x1p-140F,
                               std::numeric_limits<float>::denorm_min()};
  trireme::Philox random(3, 61, 0, 0);
  while (values.size() < count) {
    const auto value = std::bit_cast<float>(random.next_u32());
    values.push_back(std::isnan(value) ? 1.0F : value);
  }
  values.resize(count);
  return values;
}

template <typename T>
class Cast : public testing::Test {};
using Types = testing::Types<BFloat16, Half>;
TYPED_TEST_SUITE(Cast, Types);

TYPED_TEST(Cast, RoundsAsTheHost) {
  for (const std::size_t count : {0, 1, 7, 8, 9, 2047, 8192, 8193, 20'001}) {
    const auto values = numbers(count);
    const DeviceArray<float> from(values);
    DeviceArray<TypeParam> to(count + 8);
    cast(to.data(), from.data(), static_cast<std::int64_t>(count), nullptr);
    const auto rounded = to.to_host();
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(std::bit_cast<std::uint16_t>(rounded[i]), host_bits(values[i], TypeParam{})) << values[i];
    EXPECT_EQ(std::bit_cast<std::uint16_t>(rounded[count]), 0xFFFF);  // not written
  }
}

TYPED_TEST(Cast, WidensEveryNumber) {
  std::vector<TypeParam> all(65536);
  for (std::size_t bits = 0; bits < all.size(); ++bits)
    all[bits] = std::bit_cast<TypeParam>(static_cast<std::uint16_t>(bits));
  const DeviceArray<TypeParam> from(all);
  DeviceArray<float> to(all.size());
  cast(to.data(), from.data(), 65536, nullptr);
  const auto widened = to.to_host();
  for (std::size_t bits = 0; bits < all.size(); ++bits) {
    const float expected = host_float(static_cast<std::uint16_t>(bits), TypeParam{});
    ASSERT_TRUE(std::isnan(expected)
                    ? std::isnan(widened[bits])
                    : std::bit_cast<std::uint32_t>(widened[bits]) == std::bit_cast<std::uint32_t>(expected))
        << bits;
  }
}

TYPED_TEST(Cast, NanStaysNan) {
  const DeviceArray<float> from(std::vector<float>(9, std::numeric_limits<float>::quiet_NaN()));
  DeviceArray<TypeParam> to(9);
  cast(to.data(), from.data(), 9, nullptr);
  for (const TypeParam value : to.to_host()) EXPECT_TRUE(std::isnan(to_float(value)));
}

TYPED_TEST(Cast, ScalesInFp32BeforeRounding) {
  const auto values = numbers(1003);
  const DeviceArray<float> from(values), factor(std::vector<float>{0.3F});
  DeviceArray<TypeParam> to(values.size());
  DeviceArray<float> back(values.size());
  scaled_cast(to.data(), from.data(), factor.data(), 1003, nullptr);
  scaled_cast(back.data(), to.data(), factor.data(), 1003, nullptr);
  const auto rounded = to.to_host();
  const auto widened = back.to_host();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint16_t>(rounded[i]), host_bits(0.3F * values[i], TypeParam{}))
        << values[i];
    ASSERT_EQ(widened[i], 0.3F * to_float(rounded[i])) << values[i];
  }
}

TEST(ScaledCopy, MayBeInPlace) {
  const auto values = numbers(515);
  DeviceArray<float> data(values);
  const DeviceArray<float> factor(std::vector<float>{-2.0F});
  scaled_cast(data.data(), data.data(), factor.data(), 515, nullptr);
  const auto scaled = data.to_host();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(scaled[i], -2.0F * values[i]);
}

TEST(FillZero, WritesTheBytesAskedForAndNoMore) {
  for (const std::size_t bytes : {0, 1, 15, 16, 17, 4096, 8193, 30'000}) {
    DeviceArray<unsigned char> data(std::vector<unsigned char>(bytes + 32, 7));
    fill_zero(data.data(), bytes, nullptr);
    std::vector<unsigned char> expected(bytes + 32, 7);
    std::fill_n(expected.begin(), bytes, static_cast<unsigned char>(0));
    EXPECT_TRUE(data.to_host() == expected) << bytes;
  }
}

}  // namespace
}  // namespace trireme::kernels
