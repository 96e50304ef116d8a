// SPDX-License-Identifier: Apache-2.0
// Nodes that one machine plays: ranks of one "node" share memory, the others get messages only.
#include "src/comm/hierarchical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "src/core/hash.h"
#include "src/core/philox.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::HostStream;
using testing_support::kTimeout;
using testing_support::tensor_of;

constexpr std::int64_t kCounts[] = {0, 1, 3, 1023, 4097, 200003};
constexpr std::size_t kWindowBytes = std::size_t{16} << 20;
constexpr CommTuning kTuning{8192, 2048};  // many segments already for short tensors

/// How the ranks lie on nodes.
struct Layout {
  const char* name;
  int (*node_of)(int rank, int ranks);
};

NodeMap map_of(const Layout& layout, int ranks) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(layout.node_of(rank, ranks));
  return make_node_map(nodes);
}

class HierarchicalTest : public testing::TestWithParam<Layout> {
 protected:
  Hierarchical& comm() { return communicator_; }
  int ranks() { return comm().size(); }
  int self() { return comm().rank(); }

  template <typename T>
  void check_allreduce(std::int64_t count, bool shared) {
    const std::vector<T> mine = exact_values<T>(self(), count);
    std::vector<T> outside(mine);
    const auto buffer = comm().allocate(mine.size() * sizeof(T));
    std::copy(mine.begin(), mine.end(), static_cast<T*>(buffer->data()));
    const Tensor tensor = shared ? row_of(static_cast<T*>(buffer->data()), count) : tensor_of(outside);
    comm().wait(comm().allreduce(tensor, stream_, "test"), stream_);
    EXPECT_EQ(std::vector<T>(tensor.as<T>(), tensor.as<T>() + count), exact_sums<T>(ranks(), count)) << count;
  }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  Hierarchical communicator_{group_, *thread_, kWindowBytes, kTuning, map_of(GetParam(), group_.size())};

  void TearDown() override { thread_.reset(); }  // before the communicator, as its contract says
};

INSTANTIATE_TEST_SUITE_P(
    Nodes, HierarchicalTest,
    testing::Values(Layout{"one", [](int /*rank*/, int /*ranks*/) { return 0; }},
                    Layout{"apart", [](int rank, int /*ranks*/) { return rank; }},
                    Layout{"halves", [](int rank, int ranks) { return rank < ranks / 2 ? 0 : 1; }},
                    Layout{"in_turn", [](int rank, int /*ranks*/) { return rank % 2; }},
                    Layout{"all_but_one", [](int rank, int ranks) { return rank < ranks - 1 ? 0 : 1; }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(HierarchicalTest, AllreduceSumsEveryTypeAtEveryLengthWhereverTheTensorsAre) {
  for (const std::int64_t count : kCounts)
    for (const bool shared : {false, true}) {
      check_allreduce<float>(count, shared);
      check_allreduce<double>(count, shared);
      check_allreduce<std::int64_t>(count, shared);
      check_allreduce<BFloat16>(count, shared);
      check_allreduce<Float16>(count, shared);
    }
}

TEST_P(HierarchicalTest, LongTensorsGoInPieces) {
  constexpr std::int64_t kLong = 5'000'003;  // two pieces of fp32
  check_allreduce<float>(kLong, false);      // does not fit the window either
}

TEST_P(HierarchicalTest, AllreduceGivesTheSameBitsOnEveryRankWhereverTheTensorsAre) {
  for (const std::int64_t count : {5L, 9001L, 300000L}) {
    std::vector<float> outside(static_cast<std::size_t>(count));
    fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(self())), 1.0F, outside.data(), count);
    const auto buffer = comm().allocate(outside.size() * sizeof(float));
    const Tensor inside = row_of(static_cast<float*>(buffer->data()), count);
    std::copy(outside.begin(), outside.end(), inside.as<float>());
    comm().wait(comm().allreduce(tensor_of(outside), stream_, "outside"), stream_);
    comm().wait(comm().allreduce(inside, stream_, "inside"), stream_);
    const auto hash = std::to_string(xxh3(outside.data(), outside.size() * sizeof(float)));
    EXPECT_EQ(std::to_string(xxh3(inside.data, inside.bytes())), hash);
    for (const std::string& other : group_.allgather_text(hash, kTimeout, "hashes")) EXPECT_EQ(other, hash);
  }
}

TEST_P(HierarchicalTest, ReduceScatterAndAllgatherInPlaceOrNot) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      std::vector<float> values = exact_values<float>(self(), count * ranks());
      std::vector<float> apart(static_cast<std::size_t>(count));
      const Tensor own = row_of(values.data() + count * self(), count);
      const Tensor part = in_place ? own : tensor_of(apart);
      comm().wait(comm().reduce_scatter(tensor_of(values), part, stream_, "test"), stream_);
      EXPECT_EQ(std::vector<float>(part.as<float>(), part.as<float>() + count),
                exact_sums<float>(ranks(), count, count * self()));
      std::vector<float> whole(static_cast<std::size_t>(count * ranks()), -1);
      const Tensor place = row_of(whole.data() + count * self(), count);
      if (in_place) std::copy(part.as<float>(), part.as<float>() + count, place.as<float>());
      comm().wait(comm().allgather(in_place ? place : part, tensor_of(whole), stream_, "test"), stream_);
      EXPECT_EQ(whole, exact_sums<float>(ranks(), count * ranks())) << count;
    }
}

TEST_P(HierarchicalTest, BroadcastFromEveryRootWhereverTheTensorsAre) {
  for (const std::int64_t count : kCounts)
    for (int root = 0; root < ranks(); ++root)
      for (const bool shared : {false, true}) {
        const std::vector<std::int32_t> mine = exact_values<std::int32_t>(self(), count);
        std::vector<std::int32_t> outside(mine);
        const auto buffer = comm().allocate(mine.size() * sizeof(std::int32_t));
        auto* const data = static_cast<std::int32_t*>(buffer->data());
        std::copy(mine.begin(), mine.end(), data);
        const Tensor tensor = shared ? row_of(data, count) : tensor_of(outside);
        comm().wait(comm().broadcast(tensor, root, stream_, "test"), stream_);
        EXPECT_EQ(std::vector<std::int32_t>(tensor.as<std::int32_t>(), tensor.as<std::int32_t>() + count),
                  exact_values<std::int32_t>(root, count));
      }
}

TEST_P(HierarchicalTest, ManyCollectivesWithRandomDelaysMixNothingUp) {
  constexpr std::size_t kRounds = 150, kInFlight = 10;
  std::minstd_rand plan(7), delays(static_cast<unsigned>(self() + 1));  // the plan is the same on every rank
  struct Round {
    std::unique_ptr<Buffer> buffer;
    Tensor tensor;
    std::vector<float> outside, expected;
    Ticket ticket;
  };
  std::vector<Round> rounds(kRounds);
  const auto finish = [&](Round& round) {
    comm().wait(round.ticket, stream_);
    ASSERT_EQ(std::vector<float>(round.tensor.as<float>(), round.tensor.as<float>() + round.tensor.count()),
              round.expected);
    round = {};
  };
  for (std::size_t r = 0; r < kRounds; ++r) {
    Round& round = rounds[r];
    const std::int64_t count = plan() % 3 == 0 ? 30001 : 1 + static_cast<std::int64_t>(plan() % 3000);
    const int root = static_cast<int>(plan() % static_cast<unsigned>(ranks()));
    round.outside = exact_values<float>(self(), count, static_cast<std::int64_t>(r));
    round.buffer = comm().allocate(round.outside.size() * sizeof(float));
    std::copy(round.outside.begin(), round.outside.end(), static_cast<float*>(round.buffer->data()));
    round.tensor =
        plan() % 2 == 0 ? row_of(static_cast<float*>(round.buffer->data()), count) : tensor_of(round.outside);
    if (plan() % 3 == 0) {
      round.expected = exact_values<float>(root, count, static_cast<std::int64_t>(r));
      round.ticket = comm().broadcast(round.tensor, root, stream_, "test");
    } else {
      round.expected = exact_sums<float>(ranks(), count, static_cast<std::int64_t>(r));
      round.ticket = comm().allreduce(round.tensor, stream_, "test");
    }
    if (delays() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 2000));
    if (r >= kInFlight) finish(rounds[r - kInFlight]);
  }
  for (Round& round : rounds)
    if (round.ticket.id != 0) finish(round);
}

TEST(HierarchicalHere, FindsTheNodesThatThereAre) {
  HostStream stream;
  const Group group = all_ranks();
  auto thread = std::make_unique<CommThread>(kTimeout);
  Hierarchical communicator(group, *thread, 1000, kTuning);
  EXPECT_THAT(communicator.description(), HasSubstr("1 node"));
  std::vector<double> values = exact_values<double>(group.rank(), 1000);
  communicator.wait(communicator.allreduce(tensor_of(values), stream, "test"), stream);
  EXPECT_EQ(values, exact_sums<double>(group.size(), 1000));
  thread.reset();
}

TEST(HierarchicalLate, NamesTheRankThatDoesNotCome) {
  HostStream stream;
  const Group group = all_ranks();
  if (group.size() != 4) GTEST_SKIP() << "two nodes of two ranks";
  auto thread = std::make_unique<CommThread>(std::chrono::duration<double>(0.3));
  Hierarchical communicator(group, *thread, 0, kTuning, make_node_map({0, 0, 1, 1}));
  // Only rank 2 calls: what the others sent would stay in the MPI library for the tests that follow.
  std::vector<float> values(100000, 1.0F);
  if (group.rank() == 2) {
    try {
      communicator.wait(communicator.allreduce(tensor_of(values), stream, "bucket 3"), stream);
      ADD_FAILURE() << "the sum was complete without rank 3";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 3 did not come"));
    }
  }
  thread.reset();
}

}  // namespace
}  // namespace trireme
