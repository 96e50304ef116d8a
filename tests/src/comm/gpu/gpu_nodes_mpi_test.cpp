// SPDX-License-Identifier: Apache-2.0
// Nodes that one machine plays: emulated NCCL inside each, messages between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/comm/hierarchical.h"
#include "src/comm/nccl/hierarchical_nccl.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/gpu/gpu_rank.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::kCounts;
using testing_support::kTimeout;
using testing_support::OnDevice;

constexpr CommTuning kTuning{8192, 2048};  // many segments already for short tensors

/// How the ranks lie on nodes of equal size.
struct Case {
  const char* name;
  int (*node_of)(int rank, int ranks);
  unsigned seed;
};
void PrintTo(const Case& shown, std::ostream* out) {
  *out << shown.name << ", seed " << shown.seed;
}

NodeMap map_of(const Case& layout, int ranks) {
  std::vector<int> nodes;
  nodes.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(layout.node_of(rank, ranks));
  return make_node_map(nodes);
}

class GpuNodes : public testing::TestWithParam<Case>, protected testing_support::GpuRun {
 protected:
  GpuNodes() : GpuRun(GetParam().seed) {}
  void SetUp() override {
    NodeMap map = map_of(GetParam(), group_.size());
    if (group_.size() % map.nodes() != 0) GTEST_SKIP() << "nodes are of equal size";
    communicator_ = std::make_unique<HierarchicalNccl>(group_, *thread_, rank_.gpu, kTuning, std::move(map));
  }
};

constexpr auto kOne = [](int /*rank*/, int /*ranks*/) { return 0; };
constexpr auto kApart = [](int rank, int /*ranks*/) { return rank; };
constexpr auto kHalves = [](int rank, int ranks) { return rank < ranks / 2 ? 0 : 1; };
constexpr auto kInTurn = [](int rank, int /*ranks*/) { return rank % 2; };

INSTANTIATE_TEST_SUITE_P(Nodes, GpuNodes,
                         testing::Values(Case{"one", kOne, 1}, Case{"apart", kApart, 2},
                                         Case{"halves", kHalves, 0}, Case{"halves", kHalves, 3},
                                         Case{"in_turn", kInTurn, 4}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.name, test.param.seed);
                         });

TEST_P(GpuNodes, AllreduceSumsEveryTypeAtEveryLength) {
  for (const std::int64_t count : kCounts) {
    check_allreduce<float>(count);
    check_allreduce<double>(count);
    check_allreduce<std::int64_t>(count);
    check_allreduce<BFloat16>(count);
    check_allreduce<Float16>(count);
  }
}

TEST_P(GpuNodes, ReduceScatterAllgatherAndBroadcast) {
  for (const std::int64_t count : kCounts) {
    const auto whole = on_device(exact_values<float>(self(), count * ranks()));
    const auto part = on_device(std::vector<float>(static_cast<std::size_t>(count)));
    comm().wait(comm().reduce_scatter(whole.tensor(), part.tensor(), stream(), "test"), stream());
    EXPECT_EQ(part.values(), exact_sums<float>(ranks(), count, count * self()));
    const auto gathered = on_device(std::vector<float>(static_cast<std::size_t>(count * ranks()), -1));
    comm().wait(comm().allgather(part.tensor(), gathered.tensor(), stream(), "test"), stream());
    EXPECT_EQ(gathered.values(), exact_sums<float>(ranks(), count * ranks())) << count;
    for (int root = 0; root < ranks(); ++root) {
      const auto sent = on_device(exact_values<std::int32_t>(self(), count));
      comm().wait(comm().broadcast(sent.tensor(), root, stream(), "test"), stream());
      EXPECT_EQ(sent.values(), exact_values<std::int32_t>(root, count));
    }
  }
}

TEST_P(GpuNodes, SeveralAreInFlight) {
  std::vector<OnDevice<float>> values;
  std::vector<Ticket> tickets;
  for (std::int64_t i = 0; i < 12; ++i)
    values.push_back(on_device(exact_values<float>(self(), 1000 * i + 7, i)));
  for (const OnDevice<float>& each : values)
    tickets.push_back(comm().allreduce(each.tensor(), stream(), "test"));
  for (const Ticket ticket : tickets) comm().wait(ticket, stream());
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)].values(), exact_sums<float>(ranks(), 1000 * i + 7, i));
}

TEST(StagedOnTheCpu, TensorsOfADeviceWithoutQueuesAreSummedToo) {
  const Group group = all_ranks();
  const auto device = make_cpu_device({});
  const GpuCommunication gpu{device.get(), nullptr, "", false};
  CommunicatorOptions options{"ring"};
  options.gpu = &gpu;
  auto thread = std::make_unique<CommThread>(kTimeout);
  const auto communicator = make_communicator(options, group, *thread);
  for (const std::int64_t count : kCounts) {
    const OnDevice<double> values(*device, *communicator, exact_values<double>(group.rank(), count));
    communicator->wait(communicator->allreduce(values.tensor(), device->compute_stream(), "test"),
                       device->compute_stream());
    EXPECT_EQ(values.values(), exact_sums<double>(group.size(), count));
  }
  thread.reset();
}

}  // namespace
}  // namespace trireme
