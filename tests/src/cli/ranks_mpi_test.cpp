// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "src/cli/failure.h"
#include "tests/src/cli/command_line.h"

namespace trireme {
namespace {

TEST(RunWithWorld, GivesEveryRankItsWorldAndReturnsItsStatus) {
  int argc = 0;
  char** argv = nullptr;
  const Invocation invocation{argc, argv, {}, read_launch_facts()};
  int rank = -1, size = 0;
  const Status status = run_with_world(invocation, [&](const World& world) {
    rank = world.rank();
    size = world.size();
    return Status::stopped;
  });
  EXPECT_EQ(status, Status::stopped);
  EXPECT_EQ(rank, read_launch_facts().rank);
  EXPECT_EQ(size, read_launch_facts().promised_ranks);
}

TEST(InfoCommand, RankZeroListsAllRanks) {
  const LaunchFacts launch = read_launch_facts();
  const Outcome outcome = run_words({"info"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  if (launch.rank != 0) {
    EXPECT_EQ(outcome.out + outcome.err, "");
    return;
  }
  const int last = launch.promised_ranks - 1;
  const std::string ranks = last == 0 ? "1: 0 on " : fmt::format("{}: 0-{} on ", last + 1, last);
  EXPECT_THAT(outcome.out, testing::HasSubstr("ranks          " + ranks));
}

}  // namespace
}  // namespace trireme
