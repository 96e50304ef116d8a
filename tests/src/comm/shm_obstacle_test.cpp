// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_obstacle.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(ShmObstacle, SaysWhatIsThereAndWhatIsNeeded) {
  EXPECT_EQ(room_obstacle({"/dev/shm", "node01", 64 * kMiB, 256 * kMiB, 4}),
            "/dev/shm of node01 has 64.0 MiB free, 1.0 GiB are needed for 4 ranks");
}

TEST(ShmObstacle, AllRanksOfTheNodeCountAndSomeRoomIsLeft) {
  const auto fits = [](std::uint64_t free, int ranks) {
    return room_obstacle({"/dev/shm", "node01", free * kMiB, 32 * kMiB, ranks}).empty();
  };
  EXPECT_FALSE(fits(31, 1));
  EXPECT_FALSE(fits(32, 1));
  EXPECT_TRUE(fits(41, 1));
  EXPECT_FALSE(fits(41, 2));
  EXPECT_TRUE(fits(80, 2));
}

}  // namespace
}  // namespace trireme
