// SPDX-License-Identifier: Apache-2.0
#include "src/core/deadline.h"

#include <gtest/gtest.h>

#include <thread>

namespace trireme {
namespace {

TEST(Deadline, PassesAfterItsTimeAndNotBefore) {
  const Deadline far(std::chrono::hours(1));
  EXPECT_FALSE(far.passed());
  const Deadline near(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  EXPECT_TRUE(near.passed());
  EXPECT_GE(near.seconds_waited(), 0.005);
}

TEST(Stopwatch, RestartsAtZero) {
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double first = watch.seconds();
  EXPECT_GE(first, 0.005);
  watch.restart();
  EXPECT_LT(watch.seconds(), first);
}

}  // namespace
}  // namespace trireme
