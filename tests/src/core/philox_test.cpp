// SPDX-License-Identifier: Apache-2.0
#include "src/core/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace trireme {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, LaysOutTheCounterAsDocumented) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const Philox random(seed, RandomStream::augmentation, 7, 0x123456789abcULL);
  EXPECT_EQ(random.block(5), philox4x32({5, 7, 0x56789abc, 0x00021234}, {0x89abcdef, 0x01234567}));
}

TEST(Philox, NextWalksThroughTheBlocksInOrder) {
  Philox walking(1, RandomStream::shuffle, 2, 3);
  const Philox fixed(1, RandomStream::shuffle, 2, 3);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (std::uint32_t word : fixed.block(block)) EXPECT_EQ(walking.next_u32(), word);
}

TEST(Philox, EveryPartOfTheKeyChangesTheNumbers) {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t seed : {1ULL, 1ULL << 32})
    for (RandomStream stream : {RandomStream::initialisation, RandomStream::dropout})
      for (std::uint32_t epoch : {0U, 1U})
        for (std::uint64_t sample : {0ULL, 1ULL, 1ULL << 40})
          firsts.insert(Philox(seed, stream, epoch, sample).next_u32());
  EXPECT_EQ(firsts.size(), 2U * 2U * 2U * 3U);
}

TEST(Philox, UniformStaysBelowOneAndHasTheRightMean) {
  Philox random(9, RandomStream::synthetic, 0, 0);
  double sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const float u = random.next_uniform();
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    sum += static_cast<double>(u);
  }
  EXPECT_NEAR(sum / kCount, 0.5, 4 * std::sqrt(1.0 / 12 / kCount));
}

TEST(Philox, NextBelowCoversTheRangeEvenly) {
  Philox random(9, RandomStream::synthetic, 0, 1);
  std::vector<int> seen(7);
  for (int i = 0; i < 70000; ++i) ++seen.at(random.next_below(7));
  for (int count : seen) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000.0));
}

TEST(FillNormal, HasMeanZeroAndTheVarianceAskedFor) {
  std::vector<float> values(100001);
  fill_normal(Philox(3, RandomStream::initialisation, 0, 5), 2.0F, values.data(),
              static_cast<std::int64_t>(values.size()));
  double sum = 0, squares = 0;
  for (float v : values) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  const double n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 4 * 2 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 4, 4 * 4 * std::sqrt(2 / n));
}

TEST(FillNormal, AShorterFillIsAPrefix) {
  const Philox random(3, RandomStream::initialisation, 0, 5);
  std::vector<float> longer(64), shorter(61, -1.0F);
  fill_normal(random, 1.0F, longer.data(), 64);
  fill_normal(random, 1.0F, shorter.data(), 61);
  for (std::size_t i = 0; i < shorter.size(); ++i) EXPECT_EQ(shorter[i], longer[i]);
}

TEST(FillUniform, StaysInsideTheBoundAndMatchesTheWords) {
  const Philox random(3, RandomStream::initialisation, 0, 6);
  std::vector<float> values(1001);
  fill_uniform(random, 0.25F, values.data(), 1001);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = random.block(static_cast<std::uint32_t>(i / 4))[i % 4];
    EXPECT_EQ(values[i], 0.25F * (2.0F * (static_cast<float>(word >> 8) * 0x1p-24F) - 1.0F));
    EXPECT_GE(values[i], -0.25F);
    EXPECT_LT(values[i], 0.25F);
  }
}

}  // namespace
}  // namespace trireme
