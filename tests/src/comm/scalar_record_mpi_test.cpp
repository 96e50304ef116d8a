// SPDX-License-Identifier: Apache-2.0
#include "src/comm/scalar_record.h"

#include <gtest/gtest.h>

#include <thread>

#include "src/comm/mpi_library.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::HostStream;
using testing_support::kTimeout;

class ScalarRecordTest : public testing::Test {
 protected:
  void TearDown() override { thread_.reset(); }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  MpiLibrary communicator_{group_, *thread_};
  const int rank_ = group_.rank(), ranks_ = group_.size();
};

TEST_F(ScalarRecordTest, SumsBothKindsAndCanBeUsedAgain) {
  ScalarRecord record(communicator_, 2, 3);
  constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;  // float64 could not hold it
  for (int round = 0; round < 3; ++round) {
    record.doubles()[0] = 0.25 * rank_;
    record.doubles()[1] = round;
    record.integers()[0] = rank_ == 0 ? kLarge : 0;
    record.integers()[1] = 1;
    record.integers()[2] = -round;
    record.submit(stream_, "the record");
    EXPECT_TRUE(record.in_flight());
    record.wait(stream_);
    EXPECT_FALSE(record.in_flight());
    EXPECT_TRUE(record.done());
    EXPECT_EQ(record.doubles()[0], 0.25 * ranks_ * (ranks_ - 1) / 2);
    EXPECT_EQ(record.doubles()[1], round * ranks_);
    EXPECT_EQ(record.integers()[0], kLarge);
    EXPECT_EQ(record.integers()[1], ranks_);
    EXPECT_EQ(record.integers()[2], -round * ranks_);
  }
}

TEST_F(ScalarRecordTest, IsDoneWithoutBlockingAfterAWhile) {
  ScalarRecord record(communicator_, 0, 1);
  record.integers()[0] = 1;
  record.submit(stream_, "the stop record");
  const Stopwatch clock;
  while (!record.done() && clock.seconds() < 60) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(record.done());
  record.wait(stream_);
  EXPECT_EQ(record.integers()[0], ranks_);
}

TEST_F(ScalarRecordTest, MayEndWhileInFlight) {
  {
    ScalarRecord record(communicator_, 1, 1);
    record.submit(stream_, "a record that nobody reads");
  }
  std::int64_t one = 1;
  sum_record(communicator_, stream_, {}, std::span(&one, 1), "ones");
  EXPECT_EQ(one, ranks_);
}

TEST_F(ScalarRecordTest, IsSubmittedOnce) {
  ScalarRecord record(communicator_, 1, 0);
  EXPECT_THROW(record.wait(stream_), Error);
  record.submit(stream_, "once");
  EXPECT_THROW(record.submit(stream_, "twice"), Error);
  record.wait(stream_);
}

TEST_F(ScalarRecordTest, SumsArraysAndWaits) {
  std::vector<double> doubles = {0.5, static_cast<double>(rank_)};
  std::vector<std::int64_t> integers = {rank_ + 1L};
  sum_record(communicator_, stream_, doubles, integers, "sums");
  EXPECT_EQ(doubles[0], 0.5 * ranks_);
  EXPECT_EQ(doubles[1], ranks_ * (ranks_ - 1) / 2);
  EXPECT_EQ(integers[0], ranks_ * (ranks_ + 1L) / 2);
}

TEST_F(ScalarRecordTest, GathersHashesByRank) {
  constexpr std::uint64_t kHigh = 0xFEDCBA9876543210;
  const auto all = allgather_u64(communicator_, stream_, kHigh + static_cast<std::uint64_t>(rank_), "hashes");
  ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks_));
  for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], kHigh + r);
}

}  // namespace
}  // namespace trireme
