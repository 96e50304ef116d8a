// SPDX-License-Identifier: Apache-2.0
// The table of communicators: what is chosen, and that every row can be made and sums.
#include "src/comm/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "src/comm/node_topology.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::HostStream;
using testing_support::kTimeout;

TEST(Communicators, EveryNameGivesACommunicatorThatSums) {
  const Group group = all_ranks();
  constexpr std::int64_t kCount = 5000;
  for (const CommunicatorName& name : communicator_names()) {
    CommunicatorOptions options{std::string(name.name), kCount * sizeof(float)};
    const CommunicatorChoice choice = choose_communicator(options, group, kTimeout);
    options.kind = choice.kind;
    auto thread = std::make_unique<CommThread>(kTimeout);
    const auto communicator = make_communicator(options, group, *thread);
    EXPECT_EQ(communicator->name(), choice.kind);
    EXPECT_EQ(communicator->size(), group.size());
    EXPECT_EQ(communicator->rank(), group.rank());
    EXPECT_THAT(communicator->description(), HasSubstr(choice.kind));
    HostStream stream;
    auto buffer = communicator->allocate(kCount * sizeof(float));
    const Tensor tensor{buffer->data(), Shape{kCount}, DType::f32};
    for (std::int64_t i = 0; i < kCount; ++i)
      tensor.as<float>()[i] = static_cast<float>(i % 100 + group.rank());
    communicator->wait(communicator->allreduce(tensor, stream, "ramp"), stream);
    const int ranks = group.size();
    for (std::int64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(tensor.as<float>()[i], static_cast<float>(i % 100 * ranks + ranks * (ranks - 1) / 2)) << i;
    thread.reset();
    buffer.reset();
  }
}

TEST(Communicators, WhatIsAskedForIsChosen) {
  const Group group = all_ranks();
  for (const CommunicatorName& name : communicator_names()) {
    const CommunicatorChoice choice = choose_communicator({std::string(name.name), 1 << 16}, group, kTimeout);
    EXPECT_NE(choice.kind, "auto");
    if (name.name.starts_with("nccl")) {
      EXPECT_THAT(choice.obstacle, HasSubstr("NCCL"));
      EXPECT_FALSE(choice.kind.starts_with("nccl")) << "there is no GPU";
      continue;
    }
    EXPECT_EQ(choice.obstacle, "");
    if (name.name != "auto") {
      EXPECT_EQ(choice.kind, name.name);
    }
  }
}

TEST(Communicators, OtherNamesAreRefusedWithTheNearest) {
  const Group group = all_ranks();
  try {
    choose_communicator({"mpo"}, group, kTimeout);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'mpi'?"));
  }
}

TEST(Communicators, TypesThatMpiDoesNotSumAreRefused) {
  const Group group = all_ranks();
  CommunicatorOptions options{"mpi"};
  options.wire = DType::bf16;
  try {
    choose_communicator(options, group, kTimeout);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr("--comm mpi does not sum bf16"));
  }
}

TEST(NodeTopology, RanksOfThisTestAreOnOneNode) {
  const Group group = all_ranks();
  const NodeTopology topology = read_topology(group, kTimeout);
  EXPECT_EQ(topology.nodes, 1);
  EXPECT_EQ(topology.ranks, group.size());
  EXPECT_EQ(topology.smallest, group.size());
  EXPECT_EQ(topology.largest, group.size());
  EXPECT_THAT(topology.text(), HasSubstr("on one node"));
}

TEST(NodeTopology, SaysHowUnevenNodesAre) {
  EXPECT_EQ((NodeTopology{5, 2, 2, 3}.text()), "5 ranks on 2 nodes (2 to 3 each)");
  EXPECT_EQ((NodeTopology{4, 2, 2, 2}.text()), "4 ranks on 2 nodes (2 each)");
  EXPECT_EQ((NodeTopology{1, 1, 1, 1}.text()), "1 rank on one node");
}

}  // namespace
}  // namespace trireme
