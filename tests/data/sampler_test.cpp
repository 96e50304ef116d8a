// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

#include "data/permutation.h"
#include "src/core/error.h"

namespace trireme {
namespace {

using Kind = SampleOrder::Kind;

std::vector<std::int64_t> order_of(const Sampler& sampler, std::uint32_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(sampler.num_samples()));
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = sampler.sample_at(epoch, static_cast<std::int64_t>(i));
  return order;
}

bool is_permutation_of_all(std::vector<std::int64_t> order) {
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

std::size_t equal_places(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return equal;
}

/// Chi-square of a square table of counts against the uniform distribution.
double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Sampler, full_order_visits_every_sample_once) {
  for (const std::int64_t samples : {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 65537})
    for (const std::uint64_t seed : {0ULL, 1ULL, 0xFFFFFFFFFFFFFFFFULL})
      for (const std::uint32_t epoch : {0U, 1U, 77U})
        EXPECT_TRUE(is_permutation_of_all(order_of(Sampler(samples, seed, {}), epoch)))
            << samples << " samples, seed " << seed << ", epoch " << epoch;
}

TEST(Sampler, block_order_visits_every_sample_once) {
  for (const std::int64_t samples : {0, 1, 2, 3, 63, 64, 65, 1000, 8192, 20011})
    for (const std::int64_t block : {1, 2, 3, 7, 64, 100, 1000, 100000})
      for (const std::uint32_t epoch : {0U, 1U, 2U, 3U})
        ASSERT_TRUE(is_permutation_of_all(order_of(Sampler(samples, 5, {Kind::blocks, block}), epoch)))
            << samples << " samples, blocks of " << block << ", epoch " << epoch;
}

TEST(Sampler, sequential_order_is_the_stored_one) {
  const Sampler sampler(100, 3, {Kind::sequential});
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(sampler.sample_at(4, i), i);
}

TEST(Sampler, positions_beyond_the_epoch_are_refused) {
  for (const SampleOrder order :
       {SampleOrder{}, SampleOrder{Kind::blocks, 3}, SampleOrder{Kind::sequential}}) {
    const Sampler sampler(10, 0, order);
    EXPECT_THROW(sampler.sample_at(0, 10), Error);
    EXPECT_THROW(sampler.sample_at(0, -1), Error);
  }
}

TEST(Sampler, order_differs_between_epochs_and_seeds_and_repeats_for_the_same) {
  for (const SampleOrder order : {SampleOrder{}, SampleOrder{Kind::blocks, 4}}) {
    const auto first = order_of(Sampler(1000, 7, order), 2);
    EXPECT_EQ(first, order_of(Sampler(1000, 7, order), 2));
    // Independent permutations agree in one place on average.
    EXPECT_LT(equal_places(first, order_of(Sampler(1000, 7, order), 3)), 10U);
    EXPECT_LT(equal_places(first, order_of(Sampler(1000, 8, order), 2)), 10U);
    EXPECT_LT(equal_places(first, order_of(Sampler(1000, 7ULL << 32, order), 2)), 10U);
  }
}

TEST(Sampler, order_is_the_one_that_its_description_gives) {
  // Computed by a second implementation, in Python. A checkpoint resumes in the order it began with, so the
  // order must not change between versions.
  EXPECT_THAT(order_of(Sampler(10, 42, {}), 1), testing::ElementsAre(0, 5, 3, 8, 6, 2, 1, 7, 4, 9));
  EXPECT_THAT(order_of(Sampler(10, 42, {Kind::blocks, 3}), 1),
              testing::ElementsAre(4, 2, 6, 5, 0, 9, 8, 7, 3, 1));
  const Sampler blocks(1000, 42, {Kind::blocks, 3});
  std::vector<std::int64_t> some;
  for (const std::int64_t position : {0, 1, 2, 3, 500, 501, 502, 503})
    some.push_back(blocks.sample_at(1, position));
  EXPECT_THAT(some, testing::ElementsAre(680, 337, 257, 232, 899, 25, 271, 368));
}

TEST(Sampler, samples_land_uniformly) {
  // Counts of (bucket of the sample, bucket of its place) over an epoch, and places of one sample over many
  // epochs.
  constexpr std::int64_t kSamples = 50000, kBuckets = 10;
  const auto order = order_of(Sampler(kSamples, 11, {}), 0);
  std::vector<int> counts(kBuckets * kBuckets);
  for (std::int64_t i = 0; i < kSamples; ++i)
    ++counts[static_cast<std::size_t>(i * kBuckets / kSamples * kBuckets +
                                      order[static_cast<std::size_t>(i)] * kBuckets / kSamples)];
  // 81 degrees of freedom: mean 81, standard deviation 12.7.
  EXPECT_LT(chi_square(counts, 500), 81 + 5 * 12.7);
  EXPECT_GT(chi_square(counts, 500), 81 - 5 * 12.7);

  constexpr std::int64_t kFew = 13;
  std::vector<int> places(kFew * kFew);
  for (std::uint32_t epoch = 0; epoch < 6500; ++epoch) {
    const Sampler sampler(kFew, 1, {});
    for (std::int64_t i = 0; i < kFew; ++i)
      ++places[static_cast<std::size_t>(i * kFew + sampler.sample_at(epoch, i))];
  }
  // 144 degrees of freedom: mean 144, standard deviation 17.
  EXPECT_LT(chi_square(places, 500), 144 + 5 * 17.0);
}

TEST(Sampler, neighbours_are_not_kept_together) {
  const auto order = order_of(Sampler(20000, 3, {}), 0);
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += std::abs(order[i] - order[i - 1]) == 1;
  EXPECT_LT(neighbours, 20);  // 2 are expected
}

TEST(Sampler, a_window_of_the_block_order_reads_its_own_blocks_only) {
  constexpr std::int64_t kBlock = 5, kSamples = 5 * 200 + 3;  // 201 blocks, the last one short
  const Sampler sampler(kSamples, 9, {Kind::blocks, kBlock});
  for (const std::uint32_t epoch : {0U, 1U, 2U, 3U, 4U, 5U}) {
    const auto order = order_of(sampler, epoch);
    std::set<std::int64_t> seen;
    std::size_t position = 0;
    bool mixed = false;
    for (const std::size_t blocks : {64U, 64U, 64U, 9U}) {
      // The window's blocks, taken from the samples that a window without the short block would have at
      // least.
      std::set<std::int64_t> window;
      std::int64_t samples = 0;
      while (position < order.size() &&
             (window.size() < blocks || window.contains(order[position] / kBlock)) &&
             samples < static_cast<std::int64_t>(blocks) * kBlock) {
        window.insert(order[position] / kBlock);
        if (samples > 0) mixed = mixed || order[position] != order[position - 1] + 1;
        ++position;
        ++samples;
      }
      EXPECT_EQ(window.size(), blocks);
      const bool has_short = window.contains(200);
      EXPECT_EQ(samples, static_cast<std::int64_t>(blocks) * kBlock - (has_short ? 2 : 0));
      for (const std::int64_t block : window) EXPECT_TRUE(seen.insert(block).second) << "block read twice";
    }
    EXPECT_EQ(position, order.size());
    EXPECT_TRUE(mixed);
  }
}

TEST(Sampler, the_short_block_moves_from_epoch_to_epoch) {
  // Otherwise its samples would always be among those that a dropped last batch leaves out.
  const Sampler sampler(1000 * 3 + 1, 2, {Kind::blocks, 3});
  std::int64_t earliest = 3001, latest = 0;
  for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
    const auto order = order_of(sampler, epoch);
    const std::int64_t place = std::ranges::find(order, 3000) - order.begin();
    earliest = std::min(earliest, place);
    latest = std::max(latest, place);
  }
  EXPECT_LT(earliest, 1000);
  EXPECT_GT(latest, 2000);
}

TEST(KeyedPermutation, inverse_undoes_it) {
  for (const std::int64_t size : {1, 2, 3, 17, 1000}) {
    const KeyedPermutation permutation(size, 3, RandomStream::pack_order, 0, 8, 2);
    for (std::int64_t i = 0; i < size; ++i) EXPECT_EQ(permutation.inverse(permutation.at(i)), i);
  }
  const KeyedPermutation large(std::int64_t{1} << 62, 3, RandomStream::shuffle, 0);
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, (std::int64_t{1} << 62) - 1})
    EXPECT_EQ(large.inverse(large.at(i)), i);
}

TEST(SampleOrder, is_read_from_text) {
  EXPECT_EQ(parse_sample_order("full", 3072).kind, Kind::full);
  const SampleOrder blocks = parse_sample_order("blocks:4", 3072);
  EXPECT_EQ(blocks.kind, Kind::blocks);
  EXPECT_EQ(blocks.block_samples, 4 * 1024 * 1024 / 3072);
  EXPECT_EQ(parse_sample_order("blocks:0.5", 1024).block_samples, 512);
  EXPECT_EQ(parse_sample_order("blocks:1", std::int64_t{1} << 30).block_samples, 1);
}

TEST(SampleOrder, refuses_other_text) {
  for (const char* text : {"", "Full", "blocks", "blocks:", "blocks:0", "blocks:-1", "blocks:x", "blocks:1 ",
                           "blocks:1e300", "sequential"}) {
    try {
      parse_sample_order(text, 3072);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::usage);
      EXPECT_THAT(error.what(), testing::HasSubstr("blocks:MIB"));
    }
  }
}

TEST(StepRange, takes_consecutive_batches_cut_at_the_end) {
  EXPECT_EQ(step_range(0, 32, 100), (SampleRange{0, 32}));
  EXPECT_EQ(step_range(2, 32, 100), (SampleRange{64, 96}));
  EXPECT_EQ(step_range(3, 32, 100), (SampleRange{96, 100}));
  EXPECT_EQ(step_range(4, 32, 100).size(), 0);
  EXPECT_EQ(step_range(0, 32, 5), (SampleRange{0, 5}));
}

TEST(ShareOf, partitions_a_range_for_any_number_of_parts) {
  for (const SampleRange range :
       {SampleRange{0, 0}, SampleRange{0, 1}, SampleRange{10, 17}, SampleRange{96, 224}})
    for (std::int64_t parts = 1; parts <= 9; ++parts) {
      std::int64_t at = range.begin;
      for (std::int64_t part = 0; part < parts; ++part) {
        const SampleRange share = share_of(range, part, parts);
        EXPECT_EQ(share.begin, at);
        EXPECT_EQ(share.size(), range.size() / parts + (part < range.size() % parts ? 1 : 0));
        at = share.end;
      }
      EXPECT_EQ(at, range.end);
    }
}

}  // namespace
}  // namespace trireme
