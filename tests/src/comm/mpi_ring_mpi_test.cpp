// SPDX-License-Identifier: Apache-2.0
// Every verb of MpiRing against sums and copies made by hand, on numbers whose sums are exact, and the bits
// of sums of real numbers against the order that the algorithms promise.
#include "src/comm/mpi_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/comm/mpi_library.h"
#include "src/comm/reduce.h"
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

CommTuning tuning(std::int64_t segment_bytes, std::int64_t small_bytes) {
  return {.segment_bytes = segment_bytes, .small_bytes = small_bytes};
}

// Rings of many segments, halving-doubling as far as it goes, and both with longer pieces.
const CommTuning kTunings[] = {tuning(64, 0), tuning(4096, 1 << 24), tuning(1 << 15, 1 << 12)};
// None, fewer than ranks, odd, and several waves of segments.
constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 7, 1023, 40001};

std::vector<float> normal_values(int rank, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(rank)), 1.0F, values.data(), count);
  return values;
}

template <typename T>
T narrowed(float value);
template <>
BFloat16 narrowed(float value) {
  return to_bfloat16(value);
}
template <>
Float16 narrowed(float value) {
  return to_float16(value);
}

class MpiRingTest : public testing::TestWithParam<CommTuning> {
 protected:
  void TearDown() override { thread_.reset(); }  // before the communicator, as its contract says

  void allreduce(const Tensor& tensor) { ring_.wait(ring_.allreduce(tensor, stream_, "test"), stream_); }

  template <typename T>
  void check_allreduce(std::int64_t count) {
    std::vector<T> values = exact_values<T>(rank_, count);
    allreduce(tensor_of(values));
    EXPECT_EQ(values, exact_sums<T>(ranks_, count)) << count << " of " << name_of(dtype_of<T>());
  }

  template <typename T>
  void check_reduce_scatter(std::int64_t count, bool in_place) {
    std::vector<T> values = exact_values<T>(rank_, count * ranks_);
    std::vector<T> apart(static_cast<std::size_t>(count));
    const Tensor own = row_of(values.data() + count * rank_, count);
    const Tensor result = in_place ? own : tensor_of(apart);
    ring_.wait(ring_.reduce_scatter(tensor_of(values), result, stream_, "test"), stream_);
    const std::vector<T> got(result.as<T>(), result.as<T>() + count);
    EXPECT_EQ(got, exact_sums<T>(ranks_, count, count * rank_)) << count << " of " << name_of(dtype_of<T>());
  }

  template <typename T>
  void check_allgather(std::int64_t count, bool in_place) {
    std::vector<T> mine = exact_values<T>(rank_, count);
    const std::vector<T> before = mine;
    std::vector<T> all(static_cast<std::size_t>(count * ranks_));
    const Tensor own = row_of(all.data() + count * rank_, count);
    if (in_place) std::copy(mine.begin(), mine.end(), own.as<T>());
    ring_.wait(ring_.allgather(in_place ? own : tensor_of(mine), tensor_of(all), stream_, "test"), stream_);
    std::vector<T> expected;
    for (int other = 0; other < ranks_; ++other)
      for (const T value : exact_values<T>(other, count)) expected.push_back(value);
    EXPECT_EQ(all, expected) << count << " of " << name_of(dtype_of<T>());
    EXPECT_EQ(mine, before);
  }

  template <typename T>
  void check_broadcast(std::int64_t count, int root) {
    std::vector<T> values = exact_values<T>(rank_, count);
    ring_.wait(ring_.broadcast(tensor_of(values), root, stream_, "test"), stream_);
    EXPECT_EQ(values, exact_values<T>(root, count)) << count << " from " << root;
  }

  template <typename T>
  void check_sum_is_rounded_once(std::int64_t count) {
    std::vector<float> sums(static_cast<std::size_t>(count));
    std::vector<T> values(sums.size()), expected(sums.size());
    for (int other = 0; other < ranks_; ++other) {
      const std::vector<float> numbers = normal_values(other, count);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const T narrow = narrowed<T>(numbers[i]);
        if (other == rank_) values[i] = narrow;
        sums[i] = other == 0 ? to_float(narrow) : sums[i] + to_float(narrow);
        expected[i] = narrowed<T>(sums[i]);
      }
    }
    allreduce(tensor_of(values));
    EXPECT_EQ(values, expected);
  }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  MpiRing ring_{group_, *thread_, GetParam()};
  const int rank_ = group_.rank(), ranks_ = group_.size();
};

std::string tuning_name(const testing::TestParamInfo<CommTuning>& tested) {
  return fmt::format("Segment{}Small{}", tested.param.segment_bytes, tested.param.small_bytes);
}
INSTANTIATE_TEST_SUITE_P(Tunings, MpiRingTest, testing::ValuesIn(kTunings), tuning_name);

TEST_P(MpiRingTest, AllreduceSumsEveryTypeAtEveryLength) {
  for (const std::int64_t count : kCounts) {
    check_allreduce<float>(count);
    check_allreduce<double>(count);
    check_allreduce<std::int64_t>(count);
    check_allreduce<BFloat16>(count);
    check_allreduce<Float16>(count);
  }
}

TEST_P(MpiRingTest, ReduceScatterGivesEveryRankItsPart) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      check_reduce_scatter<float>(count, in_place);
      check_reduce_scatter<double>(count, in_place);
      check_reduce_scatter<std::int64_t>(count, in_place);
      check_reduce_scatter<BFloat16>(count, in_place);
      check_reduce_scatter<Float16>(count, in_place);
    }
}

TEST_P(MpiRingTest, AllgatherGivesEveryRankAllParts) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      check_allgather<std::uint8_t>(count, in_place);
      check_allgather<BFloat16>(count, in_place);
      check_allgather<std::int32_t>(count, in_place);
      check_allgather<double>(count, in_place);
    }
}

TEST_P(MpiRingTest, BroadcastTakesEveryTypeFromEveryRoot) {
  for (const std::int64_t count : kCounts)
    for (int root = 0; root < ranks_; ++root) {
      check_broadcast<std::uint8_t>(count, root);
      check_broadcast<Float16>(count, root);
      check_broadcast<float>(count, root);
      check_broadcast<std::int64_t>(count, root);
    }
}

TEST_P(MpiRingTest, SumsOfSixteenBitNumbersAreMadeInFp32InRankOrderAndRoundedOnce) {
  check_sum_is_rounded_once<BFloat16>(30011);
  check_sum_is_rounded_once<Float16>(30011);
}

TEST_P(MpiRingTest, ReduceScatterOfSixteenBitNumbersIsAPartOfTheirAllreduce) {
  constexpr std::int64_t kCount = 3001;
  const std::vector<float> numbers = normal_values(rank_, kCount * ranks_);
  std::vector<BFloat16> values;
  for (const float number : numbers) values.push_back(to_bfloat16(number));
  std::vector<BFloat16> whole = values, part(static_cast<std::size_t>(kCount));
  allreduce(tensor_of(whole));
  ring_.wait(ring_.reduce_scatter(tensor_of(values), tensor_of(part), stream_, "test"), stream_);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + kCount * rank_));
}

TEST_P(MpiRingTest, AllreduceGivesTheSameBitsOnEveryRank) {
  for (const std::int64_t count : {5L, 9001L, 300000L}) {
    std::vector<float> values = normal_values(rank_, count);
    allreduce(tensor_of(values));
    std::vector<float> first = values;
    ring_.wait(ring_.broadcast(tensor_of(first), 0, stream_, "the values of rank 0"), stream_);
    EXPECT_EQ(values, first);
  }
}

TEST_P(MpiRingTest, SumsOfTwoRanksHaveTheBitsOfMpi) {
  if (ranks_ != 2) GTEST_SKIP() << "needs 2 ranks";
  MpiLibrary mpi(group_, *thread_);
  std::vector<float> values = normal_values(rank_, 100003), expected = values;
  allreduce(tensor_of(values));
  mpi.wait(mpi.allreduce(tensor_of(expected), stream_, "test"), stream_);
  EXPECT_EQ(values, expected);
  thread_.reset();
}

TEST_P(MpiRingTest, ManyCollectivesOfAllKindsAreInFlightAtOnce) {
  constexpr int kRounds = 20;
  struct Round {
    std::vector<float> reduced, whole, part, gathered, sent;
    std::vector<BFloat16> narrow;
    std::vector<Ticket> tickets;
  };
  std::vector<Round> rounds(kRounds);
  for (int r = 0; r < kRounds; ++r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    const std::int64_t count = r % 3 == 0 ? 20003 : 5 + r;
    round.reduced = exact_values<float>(rank_, count);
    round.whole = exact_values<float>(rank_, 100L * ranks_);
    round.part.resize(100);
    round.sent = exact_values<float>(rank_, count);
    round.narrow = exact_values<BFloat16>(rank_, count);
    round.gathered.resize(static_cast<std::size_t>(count * ranks_));
    round.tickets = {
        ring_.allreduce(tensor_of(round.reduced), stream_, "a"),
        ring_.reduce_scatter(tensor_of(round.whole), tensor_of(round.part), stream_, "b"),
        ring_.allreduce(tensor_of(round.narrow), stream_, "c"),
        ring_.broadcast(tensor_of(round.sent), r % ranks_, stream_, "d"),
    };
    if (r % 4 == rank_ % 4) ring_.wait(round.tickets[3], stream_);  // ranks fall in and out of step
  }
  for (int r = kRounds - 1; r >= 0; --r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    for (const Ticket ticket : round.tickets) ring_.wait(ticket, stream_);
    round.tickets = {ring_.allgather(tensor_of(round.sent), tensor_of(round.gathered), stream_, "e")};
  }
  for (int r = 0; r < kRounds; ++r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    const auto count = std::ssize(round.reduced);
    ring_.wait(round.tickets[0], stream_);
    EXPECT_EQ(round.reduced, exact_sums<float>(ranks_, count));
    EXPECT_EQ(round.part, exact_sums<float>(ranks_, 100, 100L * rank_));
    EXPECT_EQ(round.narrow, exact_sums<BFloat16>(ranks_, count));
    EXPECT_EQ(round.sent, exact_values<float>(r % ranks_, count));
    for (int other = 0; other < ranks_; ++other)
      EXPECT_TRUE(std::equal(round.sent.begin(), round.sent.end(), round.gathered.begin() + other * count));
  }
}

TEST_P(MpiRingTest, SaysWhatItIs) {
  EXPECT_EQ(ring_.name(), "ring");
  EXPECT_THAT(ring_.description(),
              HasSubstr(fmt::format("segments of {} KiB", GetParam().segment_bytes / 1024)));
  EXPECT_TRUE(ring_.can_sum(DType::bf16));
  EXPECT_FALSE(ring_.can_sum(DType::i32));
}

/// The sums that the ring promises, made of all ranks' numbers: chunk c is ((x[c+1] + x[c+2]) + …) + x[c].
std::vector<float> ring_sums(int ranks, std::int64_t count) {
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(normal_values(rank, count));
  std::vector<float> sums(static_cast<std::size_t>(count));
  for (int c = 0; c < ranks; ++c) {
    const PartRange chunk = part_of(count, ranks, c, DType::f32);
    for (std::int64_t i = chunk.begin; i < chunk.end; ++i)
      for (int hop = 1; hop <= ranks; ++hop) {
        const float value = all[static_cast<std::size_t>((c + hop) % ranks)][static_cast<std::size_t>(i)];
        float& sum = sums[static_cast<std::size_t>(i)];
        sum = hop == 1 ? value : sum + value;
      }
  }
  return sums;
}

TEST(MpiRingBits, DependOnTheCountAndNotOnTheSegments) {
  HostStream stream;
  const Group group = all_ranks();
  constexpr std::int64_t kCount = 100003;
  const std::vector<float> expected = ring_sums(group.size(), kCount);
  for (const std::int64_t segment_bytes : {100L, 5000L, 65536L, 1L << 20}) {
    auto thread = std::make_unique<CommThread>(kTimeout);
    MpiRing ring(group, *thread, tuning(segment_bytes, 0));
    std::vector<float> values = normal_values(group.rank(), kCount);
    ring.wait(ring.allreduce(tensor_of(values), stream, "test"), stream);
    EXPECT_EQ(values, expected) << segment_bytes;
    thread.reset();
  }
}

}  // namespace
}  // namespace trireme
