// SPDX-License-Identifier: Apache-2.0
// The communicator among processes: its window, its buffers, its end. What it computes is tested among
// threads (shm_collective_test.cpp).
#include "src/comm/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "src/comm/mpi_library.h"
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

constexpr std::size_t kWindowBytes = std::size_t{8} << 20;

class SharedMemoryTest : public testing::Test {
 protected:
  SharedMemory& shm() { return communicator_; }
  int ranks() { return shm().size(); }

  Tensor filled(const std::unique_ptr<Buffer>& buffer, std::int64_t count) {
    const std::vector<float> values = exact_values<float>(shm().rank(), count);
    std::copy(values.begin(), values.end(), static_cast<float*>(buffer->data()));
    return row_of(static_cast<float*>(buffer->data()), count);
  }
  static std::vector<float> values_in(const Tensor& tensor) {
    return {tensor.as<float>(), tensor.as<float>() + tensor.count()};
  }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  SharedMemory communicator_{group_, *thread_, kWindowBytes};

  void TearDown() override { thread_.reset(); }  // before the communicator, as its contract says
};

TEST_F(SharedMemoryTest, SumsTensorsInTheWindowAndElsewhereAtEveryLength) {
  for (const std::int64_t count : {0L, 1L, 3L, 1023L, 4097L, 400001L}) {
    const auto buffer = shm().allocate(static_cast<std::size_t>(count) * sizeof(float));
    const Tensor inside = filled(buffer, count);
    std::vector<float> outside = exact_values<float>(shm().rank(), count);
    const Ticket first = shm().allreduce(inside, stream_, "inside");
    const Ticket second = shm().allreduce(tensor_of(outside), stream_, "outside");
    shm().wait(second, stream_);
    shm().wait(first, stream_);
    EXPECT_EQ(outside, exact_sums<float>(ranks(), count));
    EXPECT_EQ(values_in(inside), exact_sums<float>(ranks(), count));
  }
}

TEST_F(SharedMemoryTest, AllKindsAreInFlightAtOnce) {
  constexpr std::size_t kRounds = 100;
  struct Round {
    std::vector<double> reduced, whole, part, sent, own, gathered;
    std::vector<Ticket> tickets;
  };
  std::vector<Round> rounds(kRounds);
  const int self = shm().rank();
  for (std::size_t r = 0; r < kRounds; ++r) {
    const std::int64_t count = r % 3 == 0 ? 50003 : 5 + static_cast<std::int64_t>(r);
    Round& round = rounds[r];
    round = {exact_values<double>(self, count),
             exact_values<double>(self, count * ranks()),
             std::vector<double>(static_cast<std::size_t>(count)),
             exact_values<double>(self, count),
             exact_values<double>(self, count),
             std::vector<double>(static_cast<std::size_t>(count * ranks())),
             {}};
    round.tickets = {shm().allreduce(tensor_of(round.reduced), stream_, "a"),
                     shm().reduce_scatter(tensor_of(round.whole), tensor_of(round.part), stream_, "b"),
                     shm().broadcast(tensor_of(round.sent), static_cast<int>(r) % ranks(), stream_, "c"),
                     shm().allgather(tensor_of(round.own), tensor_of(round.gathered), stream_, "d")};
    if (r % 7 == 0) shm().wait(round.tickets[1], stream_);  // ranks fall in and out of step
  }
  for (std::size_t r = 0; r < kRounds; ++r) {
    Round& round = rounds[r];
    for (const Ticket ticket : round.tickets) shm().wait(ticket, stream_);
    const std::int64_t count = std::ssize(round.own);
    EXPECT_EQ(round.reduced, exact_sums<double>(ranks(), count));
    EXPECT_EQ(round.part, exact_sums<double>(ranks(), count, count * self));
    EXPECT_EQ(round.sent, exact_values<double>(static_cast<int>(r) % ranks(), count));
    for (int other = 0; other < ranks(); ++other) {
      const std::vector<double> expected = exact_values<double>(other, count);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), round.gathered.begin() + other * count));
    }
  }
}

TEST_F(SharedMemoryTest, WithTwoRanksHasTheBitsOfTheMpiLibrary) {
  if (ranks() != 2) GTEST_SKIP() << "more ranks are summed in other orders";
  MpiLibrary oracle(group_, *thread_);
  std::vector<float> theirs(100003);
  fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(shm().rank())), 1.0F, theirs.data(),
              std::ssize(theirs));
  const auto buffer = shm().allocate(theirs.size() * sizeof(float));
  const Tensor ours = row_of(static_cast<float*>(buffer->data()), std::ssize(theirs));
  std::copy(theirs.begin(), theirs.end(), ours.as<float>());
  shm().wait(shm().allreduce(ours, stream_, "ours"), stream_);
  oracle.wait(oracle.allreduce(tensor_of(theirs), stream_, "theirs"), stream_);
  EXPECT_EQ(values_in(ours), theirs);
}

TEST_F(SharedMemoryTest, HandsOutTheWindowZeroedAndThenOrdinaryMemory) {
  const auto is_zeroed = [](const Buffer& buffer) {
    const auto* data = static_cast<const char*>(buffer.data());
    return std::all_of(data, data + buffer.bytes(), [](char c) { return c == 0; });
  };
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 5; ++i) {  // more than the window has
    buffers.push_back(shm().allocate(kWindowBytes / 3));
    EXPECT_EQ(buffers.back()->bytes(), kWindowBytes / 3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.back()->data()) % 256, 0U);
    EXPECT_TRUE(is_zeroed(*buffers.back()));
    std::memset(buffers.back()->data(), 1, buffers.back()->bytes());
  }
  void* const first = buffers[0]->data();
  buffers[0].reset();
  buffers[0] = shm().allocate(kWindowBytes / 3);
  EXPECT_EQ(buffers[0]->data(), first) << "memory that came back is handed out again";
  EXPECT_TRUE(is_zeroed(*buffers[0]));
  const Tensor last = filled(buffers[4], 100);
  shm().wait(shm().allreduce(last, stream_, "outside the window"), stream_);
  EXPECT_EQ(values_in(last), exact_sums<float>(ranks(), 100));
}

TEST(SharedMemoryEnd, BuffersMayOutliveTheCommunicator) {
  HostStream stream;
  std::unique_ptr<Buffer> buffer;
  {
    const Group group = all_ranks();
    auto thread = std::make_unique<CommThread>(kTimeout);
    SharedMemory shm(group, *thread, 100000);
    buffer = shm.allocate(100000);
    thread.reset();
  }
  std::memset(buffer->data(), 1, buffer->bytes());
}

TEST(SharedMemoryEnd, ARankThatDoesNotComeIsNamedAndTheEndDoesNotHang) {
  HostStream stream;
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "needs a second rank";
  auto thread = std::make_unique<CommThread>(std::chrono::duration<double>(group.rank() == 0 ? 60 : 0.3));
  SharedMemory shm(group, *thread, 0);
  std::vector<float> values(100000, 1.0F);
  if (group.rank() != 0) {
    try {
      shm.wait(shm.allreduce(tensor_of(values), stream, "bucket 3 (fc.weight)"), stream);
      ADD_FAILURE() << "the sum was complete without rank 0";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::peer_gone);
      EXPECT_THAT(error.what(), HasSubstr("allreduce of bucket 3 (fc.weight)"));
    }
  }
  const Stopwatch clock;
  thread.reset();
  EXPECT_LT(clock.seconds(), 20);
}

TEST(SharedMemoryObstacle, IsNothingHereAndTheSameFiguresOnAllRanksWhereTheWindowIsTooLarge) {
  const Group group = all_ranks();
  EXPECT_EQ(shared_memory_obstacle(group, 1000), "");
  int level = -1;
  MPI_Query_thread(&level);
  EXPECT_GE(level, MPI_THREAD_SERIALIZED) << "asking changed the process's thread level";
  const std::string text = shared_memory_obstacle(group, std::size_t{1} << 50);
  EXPECT_THAT(text, HasSubstr("free"));
  EXPECT_THAT(text, HasSubstr(fmt::format("are needed for {} ranks", group.size())));
  for (const std::string& other : group.allgather_text(text, kTimeout, "texts")) EXPECT_EQ(other, text);
}

}  // namespace
}  // namespace trireme
