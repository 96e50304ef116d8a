// SPDX-License-Identifier: Apache-2.0
// The plans of the message-passing algorithms, which are pure functions, played through without messages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <deque>
#include <map>
#include <set>

#include "src/comm/halving_doubling.h"
#include "src/comm/messages.h"
#include "src/comm/ring_collective.h"
#include "src/comm/tree_broadcast.h"

namespace trireme {
namespace {

RingRow row_of_ranks(std::int64_t count, DType type, int ranks) {
  RingRow row{nullptr, type, {}, nullptr};
  for (int rank = 0; rank < ranks; ++rank) row.chunks.push_back(part_of(count, ranks, rank, type));
  return row;
}

/// Every step of the plan must move every element of every chunk once, in messages that MPI can count.
void check_covers(const RingPlan& plan, const RingRow& row) {
  for (const PartRange& chunk : row.chunks) {
    std::map<int, std::int64_t> next;  // by step: the element that comes next
    for (std::int64_t item = 0; item < plan.items(); ++item) {
      const int step = plan.step_of(item);
      const PartRange range = plan.range_of(item, chunk);
      ASSERT_LE(range.size() * static_cast<std::int64_t>(size_of(row.type)), std::int64_t{1} << 30);
      if (range.size() == 0) continue;
      ASSERT_EQ(range.begin, next.try_emplace(step, chunk.begin).first->second);
      next[step] = range.end;
    }
    for (int step = plan.first_step; chunk.size() > 0 && step < plan.end_step; ++step)
      EXPECT_EQ(next[step], chunk.end);
  }
}

TEST(RingPlan, MovesEveryElementOnceInEveryStep) {
  for (const int ranks : {2, 3, 5, 8})
    for (const std::int64_t count : {1L, 2L, 17L, 1023L, 100003L})
      for (const std::int64_t segment : {1L, 64L, 1000L, 1L << 30})
        for (const DType type : {DType::u8, DType::f32, DType::f64}) {
          const RingRow row = row_of_ranks(count, type, ranks);
          for (const auto half :
               {RingPlan::Half::reduce_scatter, RingPlan::Half::allgather, RingPlan::Half::both})
            check_covers(RingPlan::make(half, row, segment), row);
        }
}

TEST(RingPlan, HasRoomForRowsOfManyGigabytes) {
  constexpr std::int64_t kCount = 9'000'000'001;  // of 4 bytes
  const RingRow row = row_of_ranks(kCount, DType::f32, 3);
  EXPECT_EQ(row.chunk(2).end, kCount);
  for (const std::int64_t segment : {std::int64_t{32} << 20, std::int64_t{1} << 40}) {
    const RingPlan plan = RingPlan::make(RingPlan::Half::both, row, segment);
    EXPECT_LE(plan.segment * 4, std::int64_t{1} << 30);
    check_covers(plan, row);
  }
}

TEST(RingRow, ReachesElementsBeyondFourGigabytes) {
  constexpr std::size_t kBytes = std::size_t{20} << 30;
  void* memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 20 GiB of addresses";
  const RingRow row{static_cast<std::byte*>(memory), DType::f32, {}, nullptr};
  EXPECT_EQ(row.at(5'000'000'000) - row.data, 20'000'000'000);
  munmap(memory, kBytes);
}

/// Plays an allreduce of numbers that tell how often each rank was added: rank r contributes 16^r.
class PlayedExchange {
 public:
  PlayedExchange(std::int64_t count, DType type, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      plans_.push_back(plan_halving_doubling(count, type, ranks, rank));
      rows_.emplace_back(static_cast<std::size_t>(count), std::int64_t{1} << (4 * rank));
    }
    next_.resize(plans_.size());
    sent_.resize(plans_.size());
  }

  /// False if messages do not fit each other.
  bool play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < plans_.size(); ++rank) moved |= advance(rank);
    }
    for (std::size_t rank = 0; rank < plans_.size(); ++rank)
      if (next_[rank] != plans_[rank].size()) return false;
    for (const auto& [link, messages] : wire_)
      if (!messages.empty()) return false;
    return true;
  }

  const std::vector<std::int64_t>& row(int rank) const { return rows_[static_cast<std::size_t>(rank)]; }
  std::size_t exchanges(int rank) const { return plans_[static_cast<std::size_t>(rank)].size(); }

 private:
  using Row = std::vector<std::int64_t>;

  bool advance(std::size_t rank) {
    if (next_[rank] == plans_[rank].size()) return false;
    const PairExchange& exchange = plans_[rank][next_[rank]];
    const auto peer = static_cast<std::size_t>(exchange.peer);
    Row& row = rows_[rank];
    if (!sent_[rank] && exchange.sent.size() > 0)
      wire_[{rank, peer}].emplace_back(row.begin() + exchange.sent.begin, row.begin() + exchange.sent.end);
    sent_[rank] = true;
    if (exchange.received.size() > 0) {
      auto& messages = wire_[{peer, rank}];
      if (messages.empty() || std::ssize(messages.front()) != exchange.received.size()) return false;
      for (std::int64_t i = 0; i < exchange.received.size(); ++i) {
        std::int64_t& to = row[static_cast<std::size_t>(exchange.received.begin + i)];
        to = (exchange.adds ? to : 0) + messages.front()[static_cast<std::size_t>(i)];
      }
      messages.pop_front();
    }
    ++next_[rank];
    sent_[rank] = false;
    return true;
  }

  std::vector<std::vector<PairExchange>> plans_;
  std::vector<Row> rows_;
  std::vector<std::size_t> next_;
  std::vector<bool> sent_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Row>> wire_;
};

TEST(HalvingDoublingPlan, AddsEveryRankOnceOnEveryRank) {
  for (int ranks = 2; ranks <= 13; ++ranks)
    for (const std::int64_t count : {1L, 2L, 511L, 513L, 4099L, 20001L}) {
      PlayedExchange exchange(count, DType::f32, ranks);
      ASSERT_TRUE(exchange.play()) << ranks << " ranks, " << count;
      std::int64_t sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += std::int64_t{1} << (4 * rank);
      const std::vector<std::int64_t> expected(static_cast<std::size_t>(count), sum);
      for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(exchange.row(rank), expected) << rank;
    }
}

TEST(HalvingDoublingPlan, TakesLogarithmicallyManyExchanges) {
  EXPECT_EQ(PlayedExchange(8, DType::f32, 8).exchanges(0), 3U);       // short: all of it to each partner
  EXPECT_EQ(PlayedExchange(100000, DType::f32, 8).exchanges(0), 6U);  // long: halves, down and up
  EXPECT_EQ(PlayedExchange(8, DType::f32, 9).exchanges(0), 2U);       // sits out
  EXPECT_EQ(PlayedExchange(8, DType::f32, 9).exchanges(1), 5U);       // works for both
}

void check_reaches_all(int ranks, int root, TreePlace (*place)(int, int, int), int most_hops) {
  std::set<int> reached;
  std::deque<std::pair<int, int>> next{{root, 0}};  // rank, hops
  EXPECT_EQ(place(ranks, root, root).parent, -1);
  while (!next.empty()) {
    const auto [rank, hops] = next.front();
    next.pop_front();
    EXPECT_TRUE(reached.insert(rank).second) << "rank " << rank << " twice";
    EXPECT_LE(hops, most_hops);
    for (const int child : place(ranks, rank, root).children) {
      ASSERT_EQ(place(ranks, child, root).parent, rank);
      next.emplace_back(child, hops + 1);
    }
  }
  EXPECT_EQ(reached.size(), static_cast<std::size_t>(ranks));
}

TEST(TreePlace, ReachesEveryRankOnceFromEveryRoot) {
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (int root = 0; root < ranks; ++root) {
      check_reaches_all(ranks, root, &TreePlace::chain, ranks - 1);
      check_reaches_all(ranks, root, &TreePlace::binomial, std::bit_width(static_cast<unsigned>(ranks - 1)));
    }
}

TEST(MessageContext, GivesTagsThatMpiPromisesAndThatDiffer) {
  const MessageContext context(MPI_COMM_NULL, 0, 2);
  std::set<int> tags;
  for (std::uint64_t number = 0; number < MessageContext::kTurns; ++number)
    for (int stream = 0; stream < MessageContext::kStreams; ++stream)
      tags.insert(context.tag(number, stream));
  EXPECT_EQ(tags.size(), MessageContext::kTurns * MessageContext::kStreams);
  EXPECT_EQ(*tags.begin(), 0);
  EXPECT_EQ(*tags.rbegin(), 32767);
}

TEST(MessageContext, ATagIsFreeWhenAllBeforeHaveEnded) {
  MessageContext context(MPI_COMM_NULL, 0, 2, 2);
  EXPECT_EQ(context.next_number(), 0U);
  EXPECT_EQ(context.next_number(), 1U);
  EXPECT_TRUE(context.may_begin(0));
  EXPECT_TRUE(context.may_begin(1));
  EXPECT_FALSE(context.may_begin(2));
  context.ended(1);
  EXPECT_FALSE(context.may_begin(2));
  EXPECT_TRUE(context.may_begin(3));
  EXPECT_FALSE(context.may_begin(5));
  context.ended(0);
  EXPECT_TRUE(context.may_begin(2));
}

TEST(ScratchPool, LendsABlockToOneAtATimeAndUsesItAgain) {
  ScratchPool pool;
  EXPECT_EQ(pool.take(0), nullptr);
  std::byte* const first = pool.take(1000);
  std::byte* const second = pool.take(1000);
  EXPECT_NE(first, second);
  pool.give_back(first);
  EXPECT_NE(pool.take(5000), first);
  EXPECT_EQ(pool.take(900), first);
}

}  // namespace
}  // namespace trireme
