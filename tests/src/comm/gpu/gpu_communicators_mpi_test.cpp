// SPDX-License-Identifier: Apache-2.0
// Every communicator on tensors in the memory of (emulated) GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "kernels/simt/emulator/device_memory.h"
#include "src/core/hash.h"
#include "src/core/philox.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/gpu/gpu_rank.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::GpuRank;
using testing_support::kCounts;
using testing_support::kTimeout;
using testing_support::OnDevice;

constexpr std::size_t kWindowBytes = std::size_t{4} << 20;

struct Case {
  const char* kind;
  unsigned seed;  ///< of lazy streams; 0: eager ones
};

class GpuCommunicators : public testing::TestWithParam<Case>, protected testing_support::GpuRun {
 protected:
  GpuCommunicators() : GpuRun(GetParam().seed) {
    communicator_ = make_communicator(rank_.options(GetParam().kind, kWindowBytes), group_, *thread_);
  }
  template <typename T>
  void check_every_length(bool by_communicator) {
    for (const std::int64_t count : kCounts) check_allreduce<T>(count, by_communicator);
  }
};

void PrintTo(const Case& shown, std::ostream* out) {
  *out << shown.kind << ", seed " << shown.seed;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuCommunicators,
                         testing::Values(Case{"nccl", 0}, Case{"nccl", 1}, Case{"nccl", 2},
                                         Case{"nccl-ring", 3}, Case{"shm", 0}, Case{"shm", 1},
                                         Case{"hierarchical", 0}, Case{"hierarchical", 2}, Case{"ring", 0},
                                         Case{"ring", 3}, Case{"mpi", 0}, Case{"mpi", 4}),
                         [](const auto& test) {
                           std::string name = test.param.kind;
                           std::ranges::replace(name, '-', '_');
                           return name + (test.param.seed == 0 ? "_eager"
                                                               : fmt::format("_lazy_{}", test.param.seed));
                         });

TEST_P(GpuCommunicators, AllreduceSumsEveryTypeAtEveryLength) {
  for (const bool by_communicator : {true, false}) {
    check_every_length<float>(by_communicator);
    check_every_length<double>(by_communicator);
    check_every_length<std::int64_t>(by_communicator);
    if (comm().can_sum(DType::bf16)) check_every_length<BFloat16>(by_communicator);
    if (comm().can_sum(DType::f16)) check_every_length<Float16>(by_communicator);
  }
}

TEST_P(GpuCommunicators, ReduceScatterAndAllgatherInPlaceOrNot) {
  for (const std::int64_t count : kCounts)
    for (const bool in_place : {false, true}) {
      const auto whole = on_device(exact_values<float>(self(), count * ranks()));
      const auto apart = on_device(std::vector<float>(static_cast<std::size_t>(count)), false);
      const Tensor part = in_place ? whole.part(count * self(), count) : apart.tensor();
      comm().wait(comm().reduce_scatter(whole.tensor(), part, stream(), "test"), stream());
      EXPECT_EQ(in_place ? whole.values(count * self(), count) : apart.values(),
                exact_sums<float>(ranks(), count, count * self()));

      const auto gathered = on_device(std::vector<float>(static_cast<std::size_t>(count * ranks()), -1));
      const Tensor own = gathered.part(count * self(), count);
      if (in_place) rank_.device->copy(own, part, stream());
      comm().wait(comm().allgather(in_place ? own : part, gathered.tensor(), stream(), "test"), stream());
      EXPECT_EQ(gathered.values(), exact_sums<float>(ranks(), count * ranks())) << count;
    }
}

TEST_P(GpuCommunicators, BroadcastFromEveryRoot) {
  for (const std::int64_t count : kCounts)
    for (int root = 0; root < ranks(); ++root) {
      const auto values = on_device(exact_values<std::int32_t>(self(), count));
      comm().wait(comm().broadcast(values.tensor(), root, stream(), "test"), stream());
      EXPECT_EQ(values.values(), exact_values<std::int32_t>(root, count));
    }
}

TEST_P(GpuCommunicators, SeveralAreInFlightAndAreWaitedForInAnyOrder) {
  constexpr std::size_t kRounds = 40, kInFlight = 6;
  std::minstd_rand plan(7), delays(static_cast<unsigned>(self() + 1));  // the plan is the same on every rank
  struct Round {
    OnDevice<float> values;
    std::vector<float> expected;
    Ticket ticket;
  };
  std::vector<Round> rounds;
  const auto finish = [&](std::size_t which) {
    Round& round = rounds[which];
    comm().wait(round.ticket, stream());
    ASSERT_EQ(round.values.values(), round.expected);
    rounds.erase(rounds.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (std::size_t r = 0; r < kRounds; ++r) {
    const std::int64_t count = plan() % 3 == 0 ? 30001 : 1 + static_cast<std::int64_t>(plan() % 3000);
    const auto first = static_cast<std::int64_t>(r);
    rounds.push_back({on_device(exact_values<float>(self(), count, first), plan() % 2 == 0),
                      exact_sums<float>(ranks(), count, first),
                      {}});
    rounds.back().ticket = comm().allreduce(rounds.back().values.tensor(), stream(), "test");
    if (delays() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays() % 2000));
    if (rounds.size() > kInFlight) finish(plan() % rounds.size());
  }
  while (!rounds.empty()) finish(rounds.size() - 1);
}

TEST_P(GpuCommunicators, AllRanksGetTheSameBits) {
  constexpr std::int64_t kCount = 9001;
  std::vector<float> numbers(kCount);
  fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(self())), 1.0F, numbers.data(), kCount);
  const auto values = on_device(numbers);
  comm().wait(comm().allreduce(values.tensor(), stream(), "test"), stream());
  const std::vector<float> sums = values.values();
  const auto hash = std::to_string(xxh3(sums.data(), sums.size() * sizeof(float)));
  for (const std::string& other : group_.allgather_text(hash, kTimeout, "hashes")) EXPECT_EQ(other, hash);
}

TEST_P(GpuCommunicators, MemoryIsZeroed) {
  const auto buffer = comm().allocate(100000);
  EXPECT_EQ(buffer->bytes(), 100000U);
  std::vector<unsigned char> found(buffer->bytes(), 1);
  rank_.device->copy(row_of(found.data(), std::ssize(found)),
                     row_of(static_cast<unsigned char*>(buffer->data()), std::ssize(found)), stream());
  stream().synchronize();
  EXPECT_TRUE(std::ranges::all_of(found, [](unsigned char byte) { return byte == 0; }));
}

TEST(GpuSums, TwoRanksGetTheSameBitsFromEveryCommunicator) {
  const Group group = all_ranks();
  if (group.size() != 2) GTEST_SKIP() << "more ranks are summed in other orders";
  constexpr std::int64_t kCount = 30011;
  std::vector<float> numbers(kCount);
  fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(group.rank())), 1.0F, numbers.data(), kCount);
  std::vector<float> first;
  for (const CommunicatorName& name : communicator_names()) {
    if (name.name == "auto") continue;
    const GpuRank rank;
    auto thread = std::make_unique<CommThread>(kTimeout);
    const auto communicator =
        make_communicator(rank.options(std::string(name.name), kWindowBytes), group, *thread);
    const OnDevice<float> values(*rank.device, *communicator, numbers);
    communicator->wait(communicator->allreduce(values.tensor(), rank.stream(), "test"), rank.stream());
    const std::vector<float> sums = values.values();
    if (first.empty()) first = sums;
    EXPECT_EQ(sums, first) << name.name;
    thread.reset();
  }
}

TEST(StagedMemory, ImagesAreMemoryThatTheDeviceCopiesFromByItself) {
  const GpuRank rank;
  std::vector<std::byte> image(5000);
  {
    const std::shared_ptr<void> pin = rank.device->pin(image.data(), image.size());
    EXPECT_TRUE(simt::emulator::is_pinned_range(image.data(), image.size()));
  }
  EXPECT_FALSE(simt::emulator::is_pinned_range(image.data(), image.size()));
  EXPECT_EQ(rank.device->pin(image.data(), 0), nullptr);
}

TEST(GpuCommunicatorChoice, AutoTakesNcclWhereItCanBeUsed) {
  const Group group = all_ranks();
  const GpuRank rank;
  const CommunicatorChoice choice = choose_communicator(rank.options("auto"), group, kTimeout);
  EXPECT_EQ(choice.kind, group.size() > 1 ? "nccl" : "mpi");
}

TEST(GpuCommunicatorChoice, WithoutNcclSumsGoByWayOfTheHostAndTheReasonIsGiven) {
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "one rank needs no NCCL";
  GpuRank rank(nullptr);
  rank.gpu.nccl_obstacle = "NCCL cannot be loaded: no such file";
  EXPECT_EQ(choose_communicator(rank.options("auto", 1000), group, kTimeout).kind, "shm");
  const CommunicatorChoice choice = choose_communicator(rank.options("nccl", 1000), group, kTimeout);
  EXPECT_EQ(choice.kind, "shm");
  EXPECT_EQ(choice.obstacle, "NCCL cannot be loaded: no such file");
  auto thread = std::make_unique<CommThread>(kTimeout);
  const auto communicator = make_communicator(rank.options("shm", 1000), group, *thread);
  EXPECT_THAT(communicator->description(), HasSubstr("by way of the host's memory"));
  thread.reset();
}

TEST(GpuCommunicatorChoice, OneRankThatSharesAGpuKeepsAllFromNccl) {
  const Group group = all_ranks();
  if (group.size() == 1) GTEST_SKIP() << "needs a second rank";
  GpuRank rank;
  rank.gpu.shares_gpu = group.rank() == group.size() - 1;
  const CommunicatorChoice choice = choose_communicator(rank.options("nccl-ring", 1000), group, kTimeout);
  EXPECT_EQ(choice.kind, "shm");
  EXPECT_THAT(choice.obstacle, HasSubstr("share"));
}

}  // namespace
}  // namespace trireme
