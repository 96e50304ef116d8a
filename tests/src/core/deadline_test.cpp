// SPDX-License-Identifier: Apache-2.0
#include "src/core/deadline.h"

#include <gtest/gtest.h>

#include <thread>

namespace trireme {
namespace {

using namespace std::chrono_literals;

// A clock that the test moves: deadlines are told the time of each tick.
const Deadline::Clock::time_point kStart = Deadline::Clock::now();

TEST(Deadline, PassesAfterItsTimeAndNotBefore) {
  Deadline far(1h);
  EXPECT_FALSE(far.passed());
  Deadline near(5ms);
  std::this_thread::sleep_for(6ms);
  EXPECT_TRUE(near.passed());
  EXPECT_GE(near.seconds_waited(), 0.005);
}

TEST(Deadline, PassesWhileItsTicksComeInTime) {
  Deadline deadline(10s, kStart);
  for (auto at = 1s; at < 10s; at += 1s) ASSERT_FALSE(deadline.passed(kStart + at));
  EXPECT_TRUE(deadline.passed(kStart + 10s));
  EXPECT_EQ(deadline.restarts(), 0);
}

TEST(Deadline, BeginsAnewAfterASuspension) {
  Deadline deadline(10s, kStart);
  EXPECT_FALSE(deadline.passed(kStart + 1s));
  const auto resumed = kStart + 2h;
  EXPECT_FALSE(deadline.passed(resumed));
  EXPECT_EQ(deadline.restarts(), 1);
  EXPECT_EQ(deadline.end(), resumed + 10s);
  for (auto at = 1s; at < 10s; at += 1s) ASSERT_FALSE(deadline.passed(resumed + at));
  EXPECT_TRUE(deadline.passed(resumed + 10s));
  EXPECT_NEAR(deadline.seconds_waited(resumed + 10s), 7210, 1e-6);
}

TEST(Deadline, ASuspensionBeforeTheFirstTickCountsToo) {
  Deadline deadline(1s, kStart);
  EXPECT_FALSE(deadline.passed(kStart + 3s));
  EXPECT_TRUE(deadline.passed(kStart + 4s));
}

TEST(Deadline, AGapThatLoopsMayLeaveIsNoSuspension) {
  Deadline deadline(1s, kStart);
  EXPECT_TRUE(deadline.passed(kStart + Deadline::kSuspension));
}

TEST(Deadline, TakesAnyLength) {
  Deadline deadline(std::chrono::duration<double>(1e300), kStart);
  EXPECT_FALSE(deadline.passed(kStart + 1s));
  EXPECT_GT(deadline.end(), kStart + 10000h);
}

TEST(WaitUntil, ReturnsWhenReadyAndWhenTheTimeIsOver) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::unique_lock lock(mutex);
  Deadline near(20ms);
  EXPECT_FALSE(wait_until(changed, lock, near, [&] { return ready; }));
  EXPECT_TRUE(near.passed());
  std::thread other([&] {
    const std::lock_guard guard(mutex);
    ready = true;
    changed.notify_all();
  });
  Deadline far(1h);
  EXPECT_TRUE(wait_until(changed, lock, far, [&] { return ready; }));
  EXPECT_TRUE(lock.owns_lock());
  other.join();
}

TEST(Stopwatch, RestartsAtZero) {
  Stopwatch watch;
  std::this_thread::sleep_for(5ms);
  const double first = watch.seconds();
  EXPECT_GE(first, 0.005);
  watch.restart();
  EXPECT_LT(watch.seconds(), first);
}

}  // namespace
}  // namespace trireme
