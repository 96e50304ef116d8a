// SPDX-License-Identifier: Apache-2.0
#include "src/comm/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "src/core/deadline.h"
#include "tests/src/comm/groups.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::kTimeout;

std::string text_of_rank(int rank, std::size_t length) {
  return std::string(length, static_cast<char>('a' + rank));
}

TEST(Group, BroadcastsBytesOfAnyLengthFromAnyRoot) {
  const Group group = all_ranks();
  for (int root = 0; root < group.size(); ++root)
    for (const std::size_t length : {0UL, 1UL, 1001UL, 3000000UL}) {
      const std::string mine = group.rank() == root ? text_of_rank(root, length) : std::string("ignored");
      EXPECT_EQ(group.broadcast_text(mine, root, kTimeout, "a text"), text_of_rank(root, length));
    }
}

TEST(Group, GathersTextsOfDifferentLengthsOnEveryRank) {
  const Group group = all_ranks();
  // Rank 0 has nothing, the last the most.
  const auto length = [](int rank) { return static_cast<std::size_t>(rank) * 100001; };
  const auto texts =
      group.allgather_text(text_of_rank(group.rank(), length(group.rank())), kTimeout, "texts");
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank)
    EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of_rank(rank, length(rank)));
}

TEST(Group, ABarrierWaitsForTheLastRank) {
  const Group group = all_ranks();
  group.barrier(kTimeout, "the start");
  const Stopwatch clock;
  if (group.rank() == group.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  group.barrier(kTimeout, "the last rank");
  EXPECT_GE(clock.seconds(), 0.1);
}

TEST(Group, AWaitEndsAtItsDeadlineAndIsNamed) {
  const Group group = all_ranks();
  const Group other = group.duplicate();
  if (group.size() > 1) {
    if (group.rank() != 0) {
      const Stopwatch clock;
      try {
        group.barrier(std::chrono::duration<double>(0.2), "the settings of rank 0");
        ADD_FAILURE() << "the barrier was passed without rank 0";
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::peer_gone);
        EXPECT_THAT(error.what(), HasSubstr("s for the settings of rank 0"));
      }
      EXPECT_LT(clock.seconds(), 10);
    }
    other.barrier(kTimeout, "everybody has waited");
    // Rank 0 comes late, so that nothing is left in the library.
    if (group.rank() == 0) group.barrier(kTimeout, "the others");
  }
  other.barrier(kTimeout, "the end");
}

TEST(Group, AFailedCallIsNamed) {
  try {
    mpi_check(MPI_ERR_COUNT, "MPI_Ibcast");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::peer_gone);
    EXPECT_THAT(error.what(), HasSubstr("MPI_Ibcast failed: "));
    EXPECT_THAT(error.what(), HasSubstr("MPI_ERR_COUNT"));
  }
}

/// A World over the MPI that the test program has initialised.
class WorldTest : public testing::Test {
 protected:
  int argc_ = 0;
  char** argv_ = nullptr;
  World world_{argc_, argv_};
};

TEST_F(WorldTest, KnowsRanksAndNodes) {
  int rank = -1, size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(world_.rank(), rank);
  EXPECT_EQ(world_.size(), size);
  EXPECT_EQ(world_.all().size(), size);
  EXPECT_EQ(world_.local_size(), world_.node().size());
  EXPECT_EQ(world_.local_size(), size);  // the test runs on one machine
  EXPECT_EQ(world_.local_rank(), rank);
  EXPECT_FALSE(world_.host().empty());
}

TEST_F(WorldTest, ErrorsOfMpiComeBackAsCodes) {
  const int value = 0;
  EXPECT_NE(MPI_Send(&value, 1, MPI_INT, world_.size() + 5, 0, world_.all().get()), MPI_SUCCESS);
  EXPECT_NE(MPI_Send(&value, 1, MPI_INT, world_.size() + 5, 0, world_.all().duplicate().get()), MPI_SUCCESS);
}

TEST_F(WorldTest, AWorldOfTheExpectedSizeIsRight) {
  check_world_size(world_, LaunchFacts{"mpirun (Open MPI)", world_.rank(), world_.size()}, 0);
  check_world_size(world_, LaunchFacts{"mpirun (Open MPI)", world_.rank(), world_.size()}, world_.size());
  check_world_size(world_, LaunchFacts{}, 1);
}

TEST_F(WorldTest, AWorldSmallerThanExpectedIsRefusedWithTheCure) {
  try {
    check_world_size(world_, LaunchFacts{}, world_.size() + 1);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("--expect-ranks {}", world_.size() + 1)));
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("mpirun -n {}", world_.size() + 1)));
  }
}

TEST_F(WorldTest, AWorldOfOneUnderALauncherThatPromisedMoreIsRefusedWithTheCure) {
  if (world_.size() > 1) GTEST_SKIP() << "needs one rank";
  try {
    check_world_size(world_, LaunchFacts{"mpirun (Open MPI)", 2, 4}, 0);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr("mpirun (Open MPI) started 4 processes"));
    EXPECT_THAT(error.what(), HasSubstr("built with another MPI than mpirun"));
  }
}

}  // namespace
}  // namespace trireme
