// SPDX-License-Identifier: Apache-2.0
// Every collective against sums and copies made by hand, on numbers whose sums are exact.
#include "src/comm/mpi_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>
#include <vector>

#include "src/core/hash.h"
#include "src/core/philox.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::ClosedStream;
using testing_support::HostStream;
using testing_support::kTimeout;

constexpr std::int64_t kSmallPiece = 16384;  // bytes: many pieces already for short tensors
constexpr std::int64_t kCounts[] = {0, 1, 3, 1023, 4097, 400001};

/// What rank `rank` contributes at element `i`: small integers, so that every sum is exact in fp32.
template <typename T>
T value_of(int rank, std::int64_t i) {
  return static_cast<T>((i * 7 + rank * 13) % 101 + (rank + 1));
}

template <typename T>
std::vector<T> values_of(int rank, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_of<T>(rank, first + i);
  return values;
}

template <typename T>
std::vector<T> sums_of(int ranks, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> sums(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    for (int rank = 0; rank < ranks; ++rank)
      sums[static_cast<std::size_t>(i)] += value_of<T>(rank, first + i);
  return sums;
}

template <typename T>
Tensor tensor_of(std::vector<T>& values) {
  return row_of(values.data(), std::ssize(values));
}

class MpiLibraryTest : public testing::TestWithParam<std::int64_t> {
 protected:
  template <typename T>
  void check_allreduce(std::int64_t count) {
    std::vector<T> values = values_of<T>(mpi().rank(), count);
    mpi().wait(mpi().allreduce(tensor_of(values), stream_, "test"), stream_);
    EXPECT_EQ(values, sums_of<T>(mpi().size(), count));
  }

  MpiLibrary& mpi() { return communicator_; }

  HostStream stream_;
  Group group_ = all_ranks();
  CommThread* thread_ = new CommThread(kTimeout);
  MpiLibrary communicator_{group_, *thread_, GetParam()};

  void TearDown() override { delete thread_; }  // before the communicator, as its contract says
};

INSTANTIATE_TEST_SUITE_P(PieceBytes, MpiLibraryTest, testing::Values(kSmallPiece, std::int64_t{4} << 20));

TEST_P(MpiLibraryTest, AllreduceSumsEveryTypeAtEveryLength) {
  for (const std::int64_t count : kCounts) {
    check_allreduce<float>(count);
    check_allreduce<double>(count);
    check_allreduce<std::int64_t>(count);
  }
}

TEST_P(MpiLibraryTest, AllreduceGivesTheSameBitsOnEveryRank) {
  for (const std::int64_t count : {5L, 9001L, 1500000L}) {
    std::vector<float> values(static_cast<std::size_t>(count));
    fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(mpi().rank())), 1.0F, values.data(), count);
    mpi().wait(mpi().allreduce(tensor_of(values), stream_, "normal numbers"), stream_);
    const auto hash = std::to_string(xxh3(values.data(), values.size() * sizeof(float)));
    for (const std::string& other : group_.allgather_text(hash, kTimeout, "hashes")) EXPECT_EQ(other, hash);
  }
}

TEST_P(MpiLibraryTest, ReduceScatterGivesEveryRankItsPart) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      std::vector<float> values = values_of<float>(mpi().rank(), count * mpi().size());
      std::vector<float> apart(static_cast<std::size_t>(count));
      const Tensor own = row_of(values.data() + count * mpi().rank(), count);
      const Tensor result = in_place ? own : tensor_of(apart);
      mpi().wait(mpi().reduce_scatter(tensor_of(values), result, stream_, "test"), stream_);
      const std::vector<float> got(result.as<float>(), result.as<float>() + count);
      EXPECT_EQ(got, sums_of<float>(mpi().size(), count, count * mpi().rank()));
    }
}

TEST_P(MpiLibraryTest, AllgatherGivesEveryRankAllParts) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      std::vector<float> mine = values_of<float>(mpi().rank(), count);
      std::vector<float> all(static_cast<std::size_t>(count * mpi().size()), -1);
      const Tensor own = row_of(all.data() + count * mpi().rank(), count);
      if (in_place) std::copy(mine.begin(), mine.end(), own.as<float>());
      mpi().wait(mpi().allgather(in_place ? own : tensor_of(mine), tensor_of(all), stream_, "test"), stream_);
      std::vector<float> expected;
      for (int rank = 0; rank < mpi().size(); ++rank)
        for (const float value : values_of<float>(rank, count)) expected.push_back(value);
      EXPECT_EQ(all, expected);
    }
}

TEST_P(MpiLibraryTest, BroadcastTakesEveryTypeFromEveryRoot) {
  const auto check = [&]<typename T>(std::int64_t count, int root, T /*type*/) {
    std::vector<T> values = values_of<T>(mpi().rank(), count);
    mpi().wait(mpi().broadcast(tensor_of(values), root, stream_, "test"), stream_);
    EXPECT_EQ(values, values_of<T>(root, count));
  };
  for (const std::int64_t count : kCounts)
    for (int root = 0; root < mpi().size(); ++root) {
      check(count, root, std::uint8_t{});
      check(count, root, std::int32_t{});
      check(count, root, std::int64_t{});
      check(count, root, float{});
      check(count, root, double{});
    }
}

TEST_P(MpiLibraryTest, ManyCollectivesOfAllKindsAreInFlightAtOnce) {
  constexpr int kRounds = 12;
  const int ranks = mpi().size(), rank = mpi().rank();
  struct Round {
    std::vector<float> reduced, part, whole, gathered, sent;
    Ticket reduce, scatter, gather, send;
  };
  std::vector<Round> rounds(kRounds);
  for (int r = 0; r < kRounds; ++r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    const std::int64_t count = r % 3 == 0 ? 200003 : 5 + r;
    round.reduced = values_of<float>(rank, count);
    round.whole = values_of<float>(rank, 10L * ranks);
    round.part.resize(10);
    round.sent = values_of<float>(rank, count);
    round.gathered.resize(static_cast<std::size_t>(count * ranks));
    round.reduce = mpi().allreduce(tensor_of(round.reduced), stream_, "a");
    round.scatter = mpi().reduce_scatter(tensor_of(round.whole), tensor_of(round.part), stream_, "b");
    round.send = mpi().broadcast(tensor_of(round.sent), r % ranks, stream_, "c");
    if (r % 4 == 0) mpi().wait(round.send, stream_);  // ranks fall in and out of step
  }
  for (int r = kRounds - 1; r >= 0; --r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    mpi().wait(round.send, stream_);
    round.gather = mpi().allgather(tensor_of(round.sent), tensor_of(round.gathered), stream_, "d");
    mpi().wait(round.reduce, stream_);
    mpi().wait(round.scatter, stream_);
    EXPECT_TRUE(mpi().done(round.reduce));
  }
  for (int r = 0; r < kRounds; ++r) {
    Round& round = rounds[static_cast<std::size_t>(r)];
    const auto count = std::ssize(round.reduced);
    mpi().wait(round.gather, stream_);
    EXPECT_EQ(round.reduced, sums_of<float>(ranks, count));
    EXPECT_EQ(round.part, sums_of<float>(ranks, 10, 10L * rank));
    EXPECT_EQ(round.sent, values_of<float>(r % ranks, count));
    for (int other = 0; other < ranks; ++other)
      EXPECT_TRUE(std::equal(round.sent.begin(), round.sent.end(), round.gathered.begin() + other * count));
  }
}

TEST_P(MpiLibraryTest, ReadsMemoryWhenTheStreamHasComeToItAndTheCallerGoesOn) {
  ClosedStream stream;
  std::vector<float> late(10), early = values_of<float>(mpi().rank(), 10);
  const Ticket first = mpi().allreduce(tensor_of(late), stream, "late");
  const Ticket second = mpi().allreduce(tensor_of(early), stream_, "early");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(mpi().done(first), mpi().size() == 1);
  std::ranges::copy(values_of<float>(mpi().rank(), 10), late.begin());  // where the collective will read it
  stream.open();
  mpi().wait(second, stream_);
  mpi().wait(first, stream_);
  EXPECT_EQ(late, sums_of<float>(mpi().size(), 10));
  EXPECT_EQ(early, sums_of<float>(mpi().size(), 10));
}

TEST_P(MpiLibraryTest, RefusesSumsOfOtherTypes) {
  std::vector<std::int32_t> values(4);
  EXPECT_THROW(mpi().allreduce(tensor_of(values), stream_, "test"), Error);
}

TEST_P(MpiLibraryTest, AllocatesZeroedMemory) {
  const auto buffer = mpi().allocate(100000);
  EXPECT_EQ(buffer->bytes(), 100000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0U);
  for (std::size_t i = 0; i < buffer->bytes(); ++i) ASSERT_EQ(static_cast<const char*>(buffer->data())[i], 0);
}

TEST(MpiLibraryDeadline, ARankThatDoesNotComeIsReportedWithWhatItWasWaitedFor) {
  HostStream stream;
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "needs a second rank";
  const Group other = group.duplicate();
  std::vector<float> values(1000);
  auto thread = std::make_unique<CommThread>(std::chrono::duration<double>(group.rank() == 0 ? 60 : 0.3));
  MpiLibrary communicator(group, *thread);
  if (group.rank() != 0) {
    const Ticket ticket = communicator.allreduce(tensor_of(values), stream, "bucket 3 (fc.weight)");
    const Stopwatch clock;
    try {
      communicator.wait(ticket, stream);
      ADD_FAILURE() << "the sum was complete without rank 0";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::peer_gone);
      EXPECT_THAT(error.what(), HasSubstr("waited 0.3 s for allreduce of bucket 3 (fc.weight), 3.9 KiB"));
      EXPECT_THAT(error.what(), HasSubstr(fmt::format("rank {} of {}", group.rank(), group.size())));
    }
    EXPECT_LT(clock.seconds(), 10);
    EXPECT_THROW(communicator.allreduce(tensor_of(values), stream, "bucket 4"), Error);
  }
  // Rank 0 comes late; the barrier moves the others' parts, so that nothing is left in the library.
  if (group.rank() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    communicator.wait(communicator.allreduce(tensor_of(values), stream, "bucket 3"), stream);
  }
  thread.reset();
  other.barrier(kTimeout, "the end");
}

}  // namespace
}  // namespace trireme
