// SPDX-License-Identifier: Apache-2.0
#include "src/train/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace trireme {
namespace {

struct Case {
  std::int64_t samples, global_batch, ranks, accumulate;
  bool keep_last;
};

class EveryPlan : public testing::TestWithParam<Case> {};

// The micro-batches of a step, one after the other and each over all ranks, are the step's positions in
// order.
TEST_P(EveryPlan, CutsEachStepWithoutGapsOrOverlaps) {
  const Case c = GetParam();
  std::int64_t next = 0;
  BatchPlan plan{c.samples, c.global_batch, 0, c.ranks, c.accumulate, c.keep_last};
  for (std::int64_t step = 0; step < plan.steps_per_epoch(); ++step) {
    EXPECT_EQ(plan.step(step).begin, next);
    for (std::int64_t part = 0; part < c.accumulate; ++part) {
      for (plan.rank = 0; plan.rank < c.ranks; ++plan.rank) {
        const std::vector<std::int64_t> rows = plan.distinct_rows();
        const SampleRange range = plan.micro_batch(step, part);
        EXPECT_EQ(range.begin, next);
        next = range.end;
        EXPECT_EQ(std::count(rows.begin(), rows.end(), BatchPlan::rows_of(range)), 1);
        EXPECT_TRUE(std::is_sorted(rows.rbegin(), rows.rend()));
      }
    }
    EXPECT_EQ(plan.step(step).end, next);
  }
  EXPECT_EQ(next, c.samples - plan.dropped_samples());
}

INSTANTIATE_TEST_SUITE_P(BatchPlan, EveryPlan,
                         testing::Values(Case{100, 10, 1, 1, false}, Case{103, 10, 3, 1, false},
                                         Case{103, 10, 3, 1, true}, Case{64, 16, 3, 4, true},
                                         Case{20, 2, 3, 1, true}, Case{7, 16, 2, 2, true},
                                         Case{50, 7, 4, 7, true}));

TEST(BatchPlan, CountsAMicroBatchOverAllRanks) {
  const BatchPlan plan{
      .num_samples = 27, .global_batch = 10, .rank = 2, .ranks = 3, .accumulate = 2, .keep_last = true};
  for (std::int64_t step = 0; step < plan.steps_per_epoch(); ++step) {
    std::int64_t all = 0;
    for (std::int64_t part = 0; part < plan.accumulate; ++part) {
      std::int64_t expected = 0;
      for (BatchPlan other = plan; const std::int64_t rank : {0, 1, 2}) {
        other.rank = rank;
        expected += other.micro_batch(step, part).size();
      }
      EXPECT_EQ(plan.micro_batch_samples(step, part), expected);
      all += expected;
    }
    EXPECT_EQ(all, plan.step(step).size());
  }
}

TEST(BatchPlan, WhatIsInAMicroBatchDoesNotDependOnTheNumberOfRanks) {
  for (const std::int64_t ranks : {1, 2, 5}) {
    const BatchPlan first{24, 12, 0, ranks, 3, false}, last{24, 12, ranks - 1, ranks, 3, false};
    for (std::int64_t part = 0; part < 3; ++part) {
      EXPECT_EQ(first.micro_batch(1, part).begin, 12 + 4 * part);
      EXPECT_EQ(last.micro_batch(1, part).end, 16 + 4 * part);
    }
  }
}

TEST(BatchPlan, CountsWhatIsDropped) {
  EXPECT_EQ((BatchPlan{103, 10, 0, 1, 1, false}).steps_per_epoch(), 10);
  EXPECT_EQ((BatchPlan{103, 10, 0, 1, 1, false}).dropped_samples(), 3);
  EXPECT_EQ((BatchPlan{103, 10, 0, 1, 1, true}).steps_per_epoch(), 11);
  EXPECT_EQ((BatchPlan{103, 10, 0, 1, 1, true}).dropped_samples(), 0);
}

TEST(BatchPlan, AnEvenShareNeedsOneProgram) {
  EXPECT_EQ((BatchPlan{128, 32, 1, 2, 1, false}).distinct_rows(), (std::vector<std::int64_t>{16}));
  EXPECT_EQ((BatchPlan{100, 10, 0, 3, 1, false}).distinct_rows(), (std::vector<std::int64_t>{4}));
  EXPECT_EQ((BatchPlan{103, 10, 0, 3, 1, true}).distinct_rows(), (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ((BatchPlan{100, 2, 2, 3, 1, false}).distinct_rows(), (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace trireme
