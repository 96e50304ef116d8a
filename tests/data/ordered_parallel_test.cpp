// SPDX-License-Identifier: Apache-2.0
#include "data/ordered_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace trireme {
namespace {

TEST(OrderedParallel, ResultsComeInOrder) {
  for (const int threads : {1, 2, 5}) {
    std::int64_t next = 0;
    OrderedParallel<std::int64_t> loop(500, threads);
    loop.run(
        [](std::int64_t i) {
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          return i * i;
        },
        [&](std::int64_t i, std::int64_t value) {
          EXPECT_EQ(i, next++);
          EXPECT_EQ(value, i * i);
        });
    EXPECT_EQ(next, 500);
  }
}

TEST(OrderedParallel, NothingToDoIsFine) {
  OrderedParallel<int> loop(0, 3);
  loop.run([](std::int64_t) { return 1; }, [](std::int64_t, int) { FAIL(); });
}

TEST(OrderedParallel, StaysWithinItsWindow) {
  constexpr int kThreads = 3;
  std::atomic<int> made{0};
  int taken = 0, most = 0;
  OrderedParallel<int> loop(300, kThreads);
  loop.run([&](std::int64_t) { return ++made; },
           [&](std::int64_t i, int) {
             if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
             most = std::max(most, made - taken);
             ++taken;
           });
  EXPECT_LE(most, 4 * kThreads);
}

TEST(OrderedParallel, TheFirstErrorInOrderEndsTheLoop) {
  for (const int threads : {1, 4}) {
    std::int64_t consumed = 0;
    std::string message;
    try {
      OrderedParallel<int> loop(100, threads);
      loop.run(
          [](std::int64_t i) {
            if (i == 40) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (i >= 40) throw std::runtime_error(std::to_string(i));
            return 0;
          },
          [&](std::int64_t, int) { ++consumed; });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "40");
    EXPECT_EQ(consumed, 40);
  }
}

TEST(OrderedParallel, AnErrorOfTheConsumerEndsTheLoop) {
  OrderedParallel<int> loop(1000, 2);
  EXPECT_THROW(loop.run([](std::int64_t) { return 0; },
                        [](std::int64_t i, int) {
                          if (i == 3) throw std::runtime_error("full");
                        }),
               std::runtime_error);
}

}  // namespace
}  // namespace trireme
