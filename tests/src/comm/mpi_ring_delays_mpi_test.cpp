// SPDX-License-Identifier: Apache-2.0
// The message-passing collectives with ranks that fall in and out of step: random pauses before they are
// submitted and between their steps, and tags that come round soon.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "src/comm/halving_doubling.h"
#include "src/comm/mpi_ring.h"
#include "src/comm/ring_collective.h"
#include "src/comm/tree_broadcast.h"
#include "src/core/philox.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::kTimeout;
using testing_support::tensor_of;

/// Mostly none, sometimes up to half a millisecond.
class Pauses {
 public:
  Pauses(int rank, std::uint16_t stream) : random_(7, stream, 0, static_cast<std::uint64_t>(rank)) {}
  void operator()() {
    const std::uint32_t number = random_.next_u32();
    if (number % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(number / 8 % 500));
  }

 private:
  Philox random_;
};

/// A collective whose steps come late.
class Delayed final : public Collective {
 public:
  Delayed(std::unique_ptr<Collective> inner, std::shared_ptr<Pauses> pauses)
      : inner_(std::move(inner)), pauses_(std::move(pauses)) {}
  void start() override {
    (*pauses_)();
    inner_->start();
  }
  bool step() override {
    (*pauses_)();
    return inner_->step();
  }
  std::string describe() const override { return inner_->describe(); }

 private:
  std::unique_ptr<Collective> inner_;
  std::shared_ptr<Pauses> pauses_;
};

/// One collective of a kind and size that all ranks draw alike, on numbers of its own.
class Round {
 public:
  Round(MpiRing& ring, Philox& shared, std::int64_t number)
      : ring_(ring), kind_(static_cast<Kind>(shared.next_below(5))), first_(number % 101) {
    const std::int64_t longest = std::int64_t{1} << shared.next_below(15);
    count_ = 1 + shared.next_below(static_cast<std::uint32_t>(longest));
    root_ = static_cast<int>(shared.next_below(static_cast<std::uint32_t>(ring.size())));
  }

  std::unique_ptr<Collective> make() {
    const int rank = ring_.rank(), ranks = ring_.size();
    const std::int64_t parts = count_ * ranks;
    switch (kind_) {
      case Kind::allreduce:
        row_ = exact_values<float>(rank, count_, first_);
        return ring_.make_allreduce(tensor_of(row_), "allreduce");
      case Kind::narrow_allreduce:
        narrow_ = exact_values<BFloat16>(rank, count_, first_);
        return ring_.make_allreduce(tensor_of(narrow_), "allreduce of bf16");
      case Kind::reduce_scatter:
        row_ = exact_values<float>(rank, parts, first_);
        part_.resize(static_cast<std::size_t>(count_));
        return ring_.make_reduce_scatter(tensor_of(row_), tensor_of(part_), "reduce-scatter");
      case Kind::allgather:
        row_.resize(static_cast<std::size_t>(parts));
        part_ = exact_values<float>(rank, count_, first_);
        return ring_.make_allgather(tensor_of(part_), tensor_of(row_), "allgather");
      case Kind::broadcast:
        row_ = exact_values<float>(rank, count_, first_);
        return ring_.make_broadcast(tensor_of(row_), root_, "broadcast");
    }
    return nullptr;
  }

  bool is_right() const {
    const int rank = ring_.rank(), ranks = ring_.size();
    switch (kind_) {
      case Kind::allreduce:
        return row_ == exact_sums<float>(ranks, count_, first_);
      case Kind::narrow_allreduce:
        return narrow_ == exact_sums<BFloat16>(ranks, count_, first_);
      case Kind::reduce_scatter:
        return part_ == exact_sums<float>(ranks, count_, first_ + count_ * rank);
      case Kind::broadcast:
        return row_ == exact_values<float>(root_, count_, first_);
      case Kind::allgather:
        for (int other = 0; other < ranks; ++other) {
          const std::vector<float> expected = exact_values<float>(other, count_, first_);
          if (!std::equal(expected.begin(), expected.end(), row_.begin() + other * count_)) return false;
        }
        return true;
    }
    return false;
  }

  Ticket ticket;

 private:
  enum class Kind { allreduce, narrow_allreduce, reduce_scatter, allgather, broadcast };

  MpiRing& ring_;
  Kind kind_;
  std::int64_t first_, count_;
  int root_;
  std::vector<float> row_, part_;
  std::vector<BFloat16> narrow_;
};

TEST(MpiRingDelays, AThousandRoundsOfMixedSizesWithRanksOutOfStep) {
  constexpr int kRounds = 1000;
  constexpr std::size_t kInFlight = 5;
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "needs a second rank";
  auto thread = std::make_unique<CommThread>(kTimeout);
  MpiRing ring(group, *thread, {.segment_bytes = 2048, .small_bytes = 4096});
  Philox shared(3, std::uint16_t{0}, 0, 0);
  Pauses before_submit(group.rank(), 1);
  const auto in_steps = std::make_shared<Pauses>(group.rank(), 2);
  std::deque<Round> rounds;  // does not move its elements
  const auto finish_oldest = [&] {
    thread->wait(rounds.front().ticket);
    EXPECT_TRUE(rounds.front().is_right());
    rounds.pop_front();
  };
  for (int number = 0; number < kRounds; ++number) {
    Round& round = rounds.emplace_back(ring, shared, number);
    before_submit();
    round.ticket = thread->submit(std::make_unique<Delayed>(round.make(), in_steps));
    if (rounds.size() > kInFlight) finish_oldest();
  }
  while (!rounds.empty()) finish_oldest();
  thread.reset();
}

/// Broadcasts and rings of many segments that share few tags: a message of one must never end up in another.
void check_shared_tags(const Group& group, std::uint64_t turns) {
  constexpr int kRounds = 60;
  constexpr std::int64_t kCount = 5000, kSegmentBytes = 1024;
  const int rank = group.rank(), ranks = group.size();
  auto context = std::make_shared<MessageContext>(group.get(), rank, ranks, turns);
  auto thread = std::make_unique<CommThread>(kTimeout);
  const auto pauses = std::make_shared<Pauses>(rank, 3);
  std::vector<std::vector<float>> rows;
  rows.reserve(kRounds);
  std::vector<Ticket> tickets;
  for (int round = 0; round < kRounds; ++round) {
    const Tensor tensor = tensor_of(rows.emplace_back(exact_values<float>(rank, kCount, round)));
    std::unique_ptr<Collective> collective;
    if (round % 2 == 0)
      collective = std::make_unique<TreeBroadcast>(context, tensor, TreePlace::chain(ranks, rank, 0),
                                                   kSegmentBytes, "broadcast");
    else
      collective = std::make_unique<HalvingDoubling>(context, tensor, "allreduce");
    tickets.push_back(thread->submit(std::make_unique<Delayed>(std::move(collective), pauses)));
  }
  for (int round = 0; round < kRounds; ++round) {
    const auto r = static_cast<std::size_t>(round);
    thread->wait(tickets[r]);
    EXPECT_EQ(rows[r], round % 2 == 0 ? exact_values<float>(0, kCount, round)
                                      : exact_sums<float>(ranks, kCount, round))
        << round;
  }
  thread.reset();
}

TEST(MpiRingDelays, TagsMayComeRoundWhileManyCollectivesAreInFlight) {
  const Group group = all_ranks();
  for (const std::uint64_t turns : {1, 2, 7}) check_shared_tags(group, turns);
}

}  // namespace
}  // namespace trireme
