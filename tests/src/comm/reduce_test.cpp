// SPDX-License-Identifier: Apache-2.0
#include "src/comm/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "src/core/philox.h"

namespace trireme {
namespace {

// What sums are made in, and back, written apart from the code under test.
double wide(double value) {
  return value;
}
float wide(float value) {
  return value;
}
std::int64_t wide(std::int64_t value) {
  return value;
}
float wide(BFloat16 value) {
  return to_float(value);
}
float wide(Float16 value) {
  return to_float(value);
}
template <typename T, typename Wide>
T narrow(Wide value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(value);
  else if constexpr (std::is_same_v<T, Float16>)
    return to_float16(value);
  else
    return value;
}

/// Numbers around 1 of both signs, whose sums are not exact; around 10^18 for integers.
template <typename T>
std::vector<T> numbers(std::uint64_t which, std::int64_t count) {
  std::vector<float> normal(static_cast<std::size_t>(count));
  fill_normal(Philox(5, std::uint16_t{0}, 0, which), 1.0F, normal.data(), count);
  std::vector<T> values;
  for (const float value : normal) {
    if constexpr (std::is_same_v<T, std::int64_t>)
      values.push_back(static_cast<std::int64_t>(value * 1e17F) + 1);
    else if constexpr (std::is_same_v<T, double>)
      values.push_back(static_cast<double>(value) / 3);
    else
      values.push_back(narrow<T>(value));
  }
  return values;
}

template <typename T>
class Reduce : public testing::Test {
 protected:
  static constexpr DType kType = dtype_of<T>();
  // Nothing, less than a vector register, odd, and more than fits a part of the first cache.
  static constexpr std::int64_t kCounts[] = {0, 1, 3, 17, 10007};
};
using SummedTypes = testing::Types<float, double, std::int64_t, BFloat16, Float16>;
TYPED_TEST_SUITE(Reduce, SummedTypes);

TYPED_TEST(Reduce, AddsTwoRowsAndTouchesNothingBeyond) {
  for (const std::int64_t count : this->kCounts) {
    const auto a = numbers<TypeParam>(1, count + 1), b = numbers<TypeParam>(2, count + 1);
    std::vector<TypeParam> sum = numbers<TypeParam>(3, count + 1), expected = sum;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      expected[i] = narrow<TypeParam>(wide(a[i]) + wide(b[i]));
    add(this->kType, sum.data(), a.data(), b.data(), count);
    EXPECT_EQ(sum, expected);
  }
}

TYPED_TEST(Reduce, AddsInPlace) {
  for (const std::int64_t count : this->kCounts) {
    std::vector<TypeParam> into = numbers<TypeParam>(1, count), expected = into;
    const auto from = numbers<TypeParam>(2, count);
    for (std::size_t i = 0; i < from.size(); ++i)
      expected[i] = narrow<TypeParam>(wide(into[i]) + wide(from[i]));
    add_into(this->kType, into.data(), from.data(), count);
    EXPECT_EQ(into, expected);
  }
}

TYPED_TEST(Reduce, SumsInTheOrderOfTheSourcesRoundsOnceAndStoresEverywhere) {
  for (const std::int64_t count : this->kCounts)
    for (const std::size_t parties : {1U, 2U, 3U, 5U, 8U}) {
      std::vector<std::vector<TypeParam>> rows;
      std::vector<const void*> sources;
      std::vector<void*> targets;
      for (std::size_t r = 0; r < parties; ++r) rows.push_back(numbers<TypeParam>(r, count));
      for (auto& row : rows) {
        sources.push_back(row.data());
        targets.push_back(row.data());
      }
      std::vector<TypeParam> apart(static_cast<std::size_t>(count)), expected = apart;
      targets.push_back(apart.data());
      for (std::size_t i = 0; i < apart.size(); ++i) {
        auto sum = wide(rows[0][i]);
        for (std::size_t r = 1; r < parties; ++r) sum += wide(rows[r][i]);
        expected[i] = narrow<TypeParam>(sum);
      }
      sum_to_all(this->kType, sources, targets, count);
      EXPECT_EQ(apart, expected) << parties << " rows of " << count;
      for (const auto& row : rows) EXPECT_EQ(row, expected);
    }
}

TYPED_TEST(Reduce, FindsElements) {
  std::vector<TypeParam> row(5);
  EXPECT_EQ(element_at(row.data(), this->kType, 3), reinterpret_cast<std::byte*>(&row[3]));
  EXPECT_TRUE(can_be_summed(this->kType));
}

TEST(ReduceRounding, OneRoundingIsNotOnePerAddition) {
  // 1 + 2^-8 + 2^-8 in bfloat16: each addition alone would round back to 1.
  const BFloat16 one = to_bfloat16(1.0F), half_a_step = to_bfloat16(0x1p-8F);
  BFloat16 sum;
  const void* const sources[] = {&one, &half_a_step, &half_a_step};
  void* const target = &sum;
  sum_to_all(DType::bf16, sources, std::span(&target, 1), 1);
  EXPECT_EQ(to_float(sum), 1.0F + 0x1p-7F);
}

TEST(ReduceRounding, InfinitiesAndNansArriveAsSuch) {
  const Float16 large = to_float16(65504.0F);
  Float16 sum;
  add(DType::f16, &sum, &large, &large, 1);
  EXPECT_TRUE(std::isinf(to_float(sum)));
  const float infinity = INFINITY, minus = -INFINITY;
  float result = 0;
  add(DType::f32, &result, &infinity, &minus, 1);
  EXPECT_TRUE(std::isnan(result));
}

TEST(CanBeSummed, NotBytesAndNot32BitIntegers) {
  EXPECT_FALSE(can_be_summed(DType::u8));
  EXPECT_FALSE(can_be_summed(DType::i32));
}

TEST(PartOf, CoversTheRowInWholeCacheLinesWithPartsOfAboutOneSize) {
  for (const DType type : {DType::u8, DType::bf16, DType::f32, DType::f64})
    for (const std::int64_t count : {0L, 1L, 15L, 16L, 17L, 1000L, 123457L, 5'000'000'001L})
      for (const int parts : {1, 2, 3, 7, 8, 64}) {
        const auto unit = static_cast<std::int64_t>(64 / size_of(type));
        std::int64_t next = 0;
        const std::int64_t first = part_of(count, parts, 0, type).size();
        for (int part = 0; part < parts; ++part) {
          const PartRange range = part_of(count, parts, part, type);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(range.begin % unit == 0 || range.begin == count);
          EXPECT_LE(range.size(), first);
          EXPECT_TRUE(range.size() >= first - unit || range.end == count);
          next = range.end;
        }
        EXPECT_EQ(next, count);
      }
}

}  // namespace
}  // namespace trireme
