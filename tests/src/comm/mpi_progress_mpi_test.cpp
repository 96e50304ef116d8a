// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "src/comm/communicator.h"
#include "src/comm/mpi_library.h"
#include "src/core/deadline.h"
#include "tests/src/comm/collectives.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using namespace testing_support;

ProgressRecord record_of(std::uint64_t submitted, int rank) {
  ProgressRecord record;
  record.marks.submitted = submitted;
  record.marks.text = fmt::format("collective {} of rank {}", submitted, rank);
  record.step = rank;
  return record;
}

bool has_heard(const MpiProgress& progress, std::uint64_t submitted) {
  for (const PeerNews& news : progress.board().news())
    if (!news.last || news.last->marks.submitted < submitted) return false;
  return true;
}

void leave_together(MpiProgress& progress, std::uint64_t submitted) {
  const ProgressRecord last = record_of(submitted, progress.board().rank());
  EXPECT_TRUE(eventually([&] { return progress.leave(last); }));
}

TEST(MpiProgress, RanksZeroAndOneHearOfAllOthers) {
  const Group group = all_ranks();
  MpiProgress progress(group, kTimeout);
  const int rank = group.rank();
  EXPECT_EQ(progress.board().size(), group.size());
  EXPECT_EQ(progress.board().collects(), rank < 2);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    ASSERT_TRUE(eventually([&] {  // a record that is still on its way lets the next one wait
      progress.send(record_of(round, rank));
      progress.receive();
      return has_heard(progress, round);
    }));
    group.barrier(kTimeout, "the round");
  }
  for (const PeerNews& news : progress.board().news()) {
    EXPECT_EQ(news.last->step, news.rank);
    EXPECT_EQ(news.host, progress.board().host(rank));
    EXPECT_EQ(news.last->marks.text.view(), fmt::format("collective 20 of rank {}", news.rank));
  }
  leave_together(progress, 21);
  for (const PeerNews& news : progress.board().news()) {
    EXPECT_TRUE(news.last->leaves);
    EXPECT_EQ(news.last->marks.submitted, 21U);
  }
}

TEST(MpiProgress, AnEndWaitsForTheRankThatComesLast) {
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "there is nobody to wait for";
  MpiProgress progress(group, kTimeout);
  const bool is_last = group.rank() == group.size() - 1;
  if (is_last) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Stopwatch clock;
  leave_together(progress, 1);
  if (progress.board().collects() && !is_last) {
    EXPECT_GE(clock.seconds(), 0.1);
  }
  group.barrier(kTimeout, "all ranks to have left");
}

TEST(MpiProgress, AnAlarmReachesEveryRankOnce) {
  const Group group = all_ranks();
  MpiProgress progress(group, kTimeout);
  if (group.rank() == 0) {
    progress.raise_alarm(std::string(2000, 'x'));
    progress.raise_alarm("another one");  // the first counts
  } else {
    std::optional<ProgressExchange::Alarm> alarm;
    ASSERT_TRUE(eventually([&] { return (alarm = progress.receive()).has_value(); }));
    EXPECT_EQ(alarm->rank, 0);
    EXPECT_EQ(alarm->text, std::string(512, 'x'));
    EXPECT_FALSE(progress.receive().has_value());
  }
  group.barrier(kTimeout, "the alarm");
  leave_together(progress, 1);
}

TEST(MpiProgress, CommThreadTellsTheOthersBesideItsCollectives) {
  const Group group = all_ranks();
  auto progress = std::make_unique<MpiProgress>(group, kTimeout);
  const ProgressBoard& board = progress->board();
  auto thread = std::make_unique<CommThread>(std::move(progress), kTimeout);
  MpiLibrary mpi(group, *thread);
  HostStream stream;
  thread->activity().set(Doing::evaluating, 5);
  std::vector<float> values(1000, 1);
  for (int round = 0; round < 50; ++round) {
    mpi.wait(mpi.allreduce(row_of(values.data(), 1000), stream, "values"), stream);
    for (float& value : values) {
      ASSERT_EQ(value, static_cast<float>(group.size()));
      value = 1;
    }
  }
  if (board.collects()) {
    EXPECT_TRUE(eventually([&] {
      for (const PeerNews& news : board.news())
        if (!news.last || news.last->step != 5 || news.last->marks.completed < 50) return false;
      return true;
    }));
  }
  // All ranks stay until the two that listen have heard enough.
  mpi.wait(mpi.allreduce(row_of(values.data(), 1), stream, "the end"), stream);
  const Stopwatch clock;
  thread.reset();
  EXPECT_LT(clock.seconds(), 4);
}

}  // namespace
}  // namespace trireme
