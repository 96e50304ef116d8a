// SPDX-License-Identifier: Apache-2.0
// NCCL between emulated GPUs: collectives of every kind and type over all ranks, and what they wait for.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "tests/kernels/support/device_array.h"
#include "tests/src/comm/nccl_emulated/ranks.h"

namespace trireme {
namespace {

using namespace test;

using EmulatedNccl = NcclTest;
/// Each test in both modes, lazy ones with several seeds.
INSTANTIATE_TEST_SUITE_P(Modes, EmulatedNccl, testing::Values(-1, 0, 1, 2, 3, 4));

template <typename Combine>
std::vector<int> combined(int size, std::size_t count, Combine combine) {
  std::vector<int> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = value_of(0, i);
    for (int rank = 1; rank < size; ++rank) result[i] = combine(result[i], value_of(rank, i));
  }
  return result;
}

template <typename T>
void expect_values(const std::vector<T>& actual, const std::vector<int>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(actual[i] == as<T>(expected[i])) << i;
}

template <typename T>
void check_all_reduce(const Comm& comm, cudaStream_t stream, ncclDataType_t type) {
  constexpr std::size_t kCount = 37;
  const DeviceArray<T> send(values_of<T>(comm.rank, kCount));
  DeviceArray<T> receive(kCount);
  const auto run = [&](ncclRedOp_t operation, auto combine) {
    ASSERT_EQ(nccl().all_reduce(send.data(), receive.data(), kCount, type, operation, comm, stream),
              ncclSuccess)
        << nccl().get_last_error(nullptr);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    expect_values(receive.to_host(), combined(comm.size, kCount, combine));
  };
  run(ncclSum, [](int a, int b) { return a + b; });
  run(ncclProd, [](int a, int b) { return a * b; });
  run(ncclMax, [](int a, int b) { return std::max(a, b); });
  run(ncclMin, [](int a, int b) { return std::min(a, b); });
}

TEST_P(EmulatedNccl, AllReduceKnowsTypesAndOperations) {
  const Comm comm;
  const test::Stream stream;
  check_all_reduce<std::uint8_t>(comm, stream, ncclUint8);
  check_all_reduce<std::int32_t>(comm, stream, ncclInt32);
  check_all_reduce<std::int64_t>(comm, stream, ncclInt64);
  check_all_reduce<Float16>(comm, stream, ncclFloat16);
  check_all_reduce<BFloat16>(comm, stream, ncclBfloat16);
  check_all_reduce<float>(comm, stream, ncclFloat32);
  check_all_reduce<double>(comm, stream, ncclFloat64);
}

TEST_P(EmulatedNccl, SumsHaveTheSameBitsOnAllRanks) {
  const Comm comm(/*reversed=*/true);
  const test::Stream stream;
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1.0F / static_cast<float>(3 + 7 * i + 11 * static_cast<std::size_t>(comm.rank));
  DeviceArray<float> sum(values);
  ASSERT_EQ(nccl().all_reduce(sum.data(), sum.data(), values.size(), ncclFloat32, ncclAvg, comm, stream),
            ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  std::vector<float> mine = sum.to_host(), of_first = mine;
  MPI_Bcast(of_first.data(), static_cast<int>(of_first.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
  EXPECT_EQ(std::memcmp(mine.data(), of_first.data(), mine.size() * sizeof(float)), 0);
  if (comm.size == 1) {
    EXPECT_EQ(mine, values);
  }
}

TEST_P(EmulatedNccl, PartsGoInPlace) {
  const Comm comm(true);
  const test::Stream stream;
  constexpr std::size_t kPart = 5;
  const auto size = static_cast<std::size_t>(comm.size), rank = static_cast<std::size_t>(comm.rank);
  DeviceArray<float> whole(values_of<float>(comm.rank, kPart * size));
  float* const part = whole.data() + rank * kPart;
  ASSERT_EQ(nccl().reduce_scatter(whole.data(), part, kPart, ncclFloat32, ncclSum, comm, stream),
            ncclSuccess);
  ASSERT_EQ(nccl().all_gather(part, whole.data(), kPart, ncclFloat32, comm, stream), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect_values(whole.to_host(), combined(comm.size, kPart * size, [](int a, int b) { return a + b; }));
}

TEST_P(EmulatedNccl, BroadcastsFromAnyRoot) {
  const Comm comm;
  const test::Stream stream;
  for (int root = 0; root < comm.size; ++root) {
    DeviceArray<std::int32_t> values(values_of<std::int32_t>(comm.rank, 9));
    ASSERT_EQ(nccl().broadcast(values.data(), values.data(), 9, ncclInt32, root, comm, stream), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(values.to_host(), values_of<std::int32_t>(root, 9));
  }
}

TEST_P(EmulatedNccl, CollectivesTakeTheirTurnOnTheStream) {
  const Comm comm;
  const test::Stream stream, other;
  const test::Event ready, summed;
  test::Pinned<float> in(8), out(8);
  DeviceArray<float> values(8);
  for (int step = 1; step <= 3; ++step) {
    in.fill(static_cast<float>(step * (comm.rank + 1)));
    cudaMemcpyAsync(values.data(), in.data(), 32, cudaMemcpyHostToDevice, other);
    cudaEventRecord(ready, other);
    cudaStreamWaitEvent(stream, ready, 0);
    ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 8, ncclFloat32, ncclSum, comm, stream),
              ncclSuccess);
    cudaEventRecord(summed, stream);
    cudaStreamWaitEvent(other, summed, 0);
    cudaMemcpyAsync(out.data(), values.data(), 32, cudaMemcpyDeviceToHost, other);
    ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(out[7], static_cast<float>(step * comm.size * (comm.size + 1) / 2));
  }
}

TEST_P(EmulatedNccl, GroupsBeginTogetherOnSeveralCommunicators) {
  const Comm first, second(true);
  const test::Stream stream, other;
  DeviceArray<float> a(values_of<float>(first.rank, 4)), b(values_of<float>(second.rank, 4));
  ASSERT_EQ(nccl().group_start(), ncclSuccess);
  // In another order on every rank: the group's calls begin together.
  EXPECT_EQ(nccl().all_reduce(a.data(), a.data(), 4, ncclFloat32, ncclSum, first, stream), ncclSuccess);
  EXPECT_EQ(nccl().all_reduce(b.data(), b.data(), 4, ncclFloat32, ncclMax, second, other), ncclSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);  // nothing has been given to it
  ASSERT_EQ(nccl().group_end(), ncclSuccess);
  EXPECT_EQ(nccl().group_end(), ncclInvalidUsage);
  const bool is_odd = world_rank() % 2 == 1;
  ASSERT_EQ(cudaStreamSynchronize(is_odd ? stream : other), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(is_odd ? other : stream), cudaSuccess);
  expect_values(a.to_host(), combined(first.size, 4, [](int x, int y) { return x + y; }));
  expect_values(b.to_host(), combined(first.size, 4, [](int x, int y) { return std::max(x, y); }));
}

TEST_P(EmulatedNccl, IsHelpedAlongWhereAHostWaitsForNothing) {
  const Comm comm;
  const test::Stream stream;
  DeviceArray<float> values(values_of<float>(comm.rank, 4));
  ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 4, ncclFloat32, ncclSum, comm, stream),
            ncclSuccess);
  if (comm.rank == 0) {
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the others wait here
  expect_values(values.to_host(), combined(comm.size, 4, [](int a, int b) { return a + b; }));
}

TEST_P(EmulatedNccl, RunsWithEachLaunchOfAGraph) {
  const Comm comm;
  const test::Stream stream;
  DeviceArray<float> values(std::vector<float>(4, 1.0F));
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 4, ncclFloat32, ncclSum, comm, stream),
            ncclSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(values.to_host()[0], 1);
  for (int launch = 0; launch < 2; ++launch) ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(values.to_host()[3], static_cast<float>(comm.size * comm.size));
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_P(EmulatedNccl, EndsWhenItsCollectivesHave) {
  Comm comm;
  const test::Stream stream;
  DeviceArray<float> values(values_of<float>(comm.rank, 4));
  ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 4, ncclFloat32, ncclSum, comm, stream),
            ncclSuccess);
  EXPECT_EQ(nccl().comm_finalize(comm), ncclInProgress);
  while (comm.state() == ncclInProgress) std::this_thread::yield();
  EXPECT_EQ(comm.state(), ncclSuccess);
  const ncclComm_t ended = std::exchange(comm.comm, nullptr);
  EXPECT_EQ(nccl().comm_destroy(ended), ncclSuccess);
  EXPECT_EQ(nccl().comm_destroy(ended), ncclInvalidArgument);
  expect_values(values.to_host(), combined(comm.size, 4, [](int a, int b) { return a + b; }));
}

}  // namespace
}  // namespace trireme
