// SPDX-License-Identifier: Apache-2.0
#include "src/train/cadence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace trireme {
namespace {

using Unit = Interval::Unit;

std::vector<std::int64_t> due_steps(const Interval& interval, std::int64_t steps_per_epoch,
                                    std::int64_t until) {
  const Cadence cadence(interval, steps_per_epoch);
  std::vector<std::int64_t> due;
  for (std::int64_t step = 0; step <= until; ++step)
    if (cadence.due_at(step)) due.push_back(step);
  return due;
}

TEST(Cadence, CountsStepsFromTheBeginningOfTheRun) {
  EXPECT_EQ(due_steps({Unit::steps, 4}, 10, 13), (std::vector<std::int64_t>{4, 8, 12}));
  EXPECT_EQ(due_steps({Unit::epochs, 1}, 5, 13), (std::vector<std::int64_t>{5, 10}));
  EXPECT_EQ(due_steps({Unit::epochs, 2}, 5, 21), (std::vector<std::int64_t>{10, 20}));
  EXPECT_TRUE(due_steps({Unit::never, 0}, 5, 100).empty());
  EXPECT_TRUE(due_steps({Unit::minutes, 1}, 5, 100).empty());
}

TEST(Cadence, MinutesPassOnTheClock) {
  Cadence cadence({Unit::minutes, 0.02 / 60}, 10);
  EXPECT_FALSE(cadence.due_by_clock());
  usleep(30'000);
  EXPECT_TRUE(cadence.due_by_clock());
  cadence.restart_clock();
  EXPECT_FALSE(cadence.due_by_clock());
  EXPECT_FALSE(Cadence({Unit::steps, 1}, 10).due_by_clock());
}

}  // namespace
}  // namespace trireme
