// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "src/comm/comm_tuning.h"
#include "tests/src/comm/groups.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::kTimeout;

TEST(MeasureTuning, AllRanksGetTheSameSensibleChoice) {
  const Group group = all_ranks();
  const CommTuning tuning = measure_tuning(group, kTimeout);
  for (const std::string& other : group.allgather_text(tuning_text(tuning), kTimeout, "tunings"))
    EXPECT_EQ(other, tuning_text(tuning));
  if (group.size() == 1) {
    EXPECT_EQ(tuning, CommTuning{});
    return;
  }
  EXPECT_TRUE(tuning.is_measured());
  EXPECT_GT(tuning.latency_seconds, 0);
  EXPECT_GT(tuning.bytes_per_second, 1e5);
  EXPECT_TRUE(std::has_single_bit(static_cast<std::uint64_t>(tuning.segment_bytes)));
  EXPECT_GE(tuning.segment_bytes, 1 << 20);
  EXPECT_LE(tuning.segment_bytes, 1 << 25);
  EXPECT_GE(tuning.small_bytes, 4096);
  EXPECT_LE(tuning.small_bytes, 1 << 24);
}

TEST(MeasureTuning, ARankThatDoesNotComeEndsItByTheDeadline) {
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "needs a second rank";
  if (group.rank() != 0) {
    try {
      measure_tuning(group, std::chrono::duration<double>(0.3));
      ADD_FAILURE() << "measured without rank 0";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::peer_gone);
      EXPECT_THAT(error.what(), testing::HasSubstr("s for measuring messages between neighbours"));
      EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("rank {}", group.rank() - 1)));
    }
  }
  group.barrier(kTimeout, "the end");
}

}  // namespace
}  // namespace trireme
