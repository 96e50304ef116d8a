// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/comm/mpi_library.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::HostStream;
using testing_support::kTimeout;

class CommunicatorSumTest : public testing::Test {
 protected:
  void TearDown() override { thread_.reset(); }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  MpiLibrary gradients_{group_, *thread_}, statistics_{group_, *thread_};
  CommunicatorSum group_sum_{statistics_, stream_};
  const int rank_ = group_.rank(), ranks_ = group_.size();
};

TEST_F(CommunicatorSumTest, SumsInPlaceWithTheSameBitsEverywhere) {
  std::vector<double> values(257);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i) + rank_);
  group_sum_.sum(values, "batch norm statistics of bn1, forward");
  for (std::size_t i = 0; i < values.size(); ++i) {
    double expected = 0;
    for (int rank = 0; rank < ranks_; ++rank) expected += std::sin(static_cast<double>(i) + rank);
    EXPECT_NEAR(values[i], expected, 1e-14);
  }
  std::vector<double> of_rank_0 = values;
  statistics_.wait(statistics_.broadcast(row_of(of_rank_0.data(), std::ssize(of_rank_0)), 0, stream_, "sums"),
                   stream_);
  EXPECT_EQ(values, of_rank_0);
  EXPECT_GE(group_sum_.wait_seconds(), 0);
}

TEST_F(CommunicatorSumTest, DoesNotWaitForWhatIsInFlightOnTheOtherCommunicator) {
  std::vector<float> bucket(1 << 20, 1.0F);
  for (int round = 0; round < 20; ++round) {
    const Ticket ticket =
        gradients_.allreduce(row_of(bucket.data(), std::ssize(bucket)), stream_, "bucket 0");
    double value = rank_ + 1;
    group_sum_.sum({&value, 1}, "the sum");
    EXPECT_EQ(value, ranks_ * (ranks_ + 1) / 2.0);
    gradients_.wait(ticket, stream_);
    EXPECT_EQ(bucket.front(), static_cast<float>(ranks_));
    std::fill(bucket.begin(), bucket.end(), 1.0F);
  }
}

}  // namespace
}  // namespace trireme
