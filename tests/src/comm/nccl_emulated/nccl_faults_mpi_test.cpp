// SPDX-License-Identifier: Apache-2.0
// NCCL between emulated GPUs: what it refuses, and ranks that do not come.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"
#include "tests/src/comm/nccl_emulated/ranks.h"

namespace trireme {
namespace {

using namespace test;

using NcclFaults = NcclTest;
/// Each test in both modes, lazy ones with several seeds.
INSTANTIATE_TEST_SUITE_P(Modes, NcclFaults, testing::Values(-1, 0, 1, 2, 3, 4));

std::string refusal_of(ncclResult_t expected, ncclResult_t result) {
  EXPECT_EQ(result, expected);
  return nccl().get_last_error(nullptr);
}

TEST_P(NcclFaults, RefusesMemoryThatIsNotTheDevices) {
  const Comm comm;
  const test::Stream stream;
  DeviceArray<float> values(4);
  std::vector<float> host(4);
  const auto sum = [&](const void* send, void* receive, std::size_t count) {
    return refusal_of(ncclInvalidArgument,
                      nccl().all_reduce(send, receive, count, ncclFloat32, ncclSum, comm, stream));
  };
  EXPECT_NE(sum(host.data(), values.data(), 4).find("operand of 16 bytes is not in device memory"),
            std::string::npos);
  EXPECT_NE(sum(values.data(), host.data(), 4).find("result of 16"), std::string::npos);
  EXPECT_NE(sum(values.data(), values.data(), 5).find("cross by 4"), std::string::npos);
  void* registration = nullptr;
  EXPECT_NE(refusal_of(ncclInvalidArgument, nccl().comm_register(comm, host.data(), 16, &registration))
                .find("not in device memory"),
            std::string::npos);
}

TEST_P(NcclFaults, MayAskForRegisteredMemory) {
  const Comm comm;
  const test::Stream stream;
  const test::WithSettings strict([](auto& settings) { settings.strict_buffers = true; });
  void* memory = nullptr;
  ASSERT_EQ(nccl().mem_alloc(&memory, 64), ncclSuccess);
  auto* const values = static_cast<float*>(memory);
  const auto sum = [&] { return nccl().all_reduce(values, values, 8, ncclFloat32, ncclSum, comm, stream); };
  EXPECT_NE(refusal_of(ncclInvalidArgument, sum()).find("not registered"), std::string::npos);
  void* registration = nullptr;
  ASSERT_EQ(nccl().comm_register(comm, memory, 64, &registration), ncclSuccess);
  EXPECT_EQ(sum(), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(nccl().comm_deregister(comm, registration), ncclSuccess);
  EXPECT_EQ(nccl().comm_deregister(comm, registration), ncclInvalidArgument);
  EXPECT_EQ(nccl().mem_free(memory), ncclSuccess);
}

TEST_P(NcclFaults, RanksThatDifferAreAnError) {
  const Comm comm;
  if (comm.size == 1) GTEST_SKIP() << "needs another rank";
  const test::Stream stream;
  DeviceArray<float> values(8);
  const std::size_t count = comm.rank == 0 ? 8 : 7;
  ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), count, ncclFloat32, ncclSum, comm, stream),
            ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(comm.state(), ncclInvalidUsage);
  EXPECT_NE(std::string(nccl().get_last_error(comm)).find("ranks differ"), std::string::npos);
  EXPECT_NE(values.to_host()[0], values.to_host()[0]);  // NaN
}

TEST_P(NcclFaults, ARankThatDoesNotComeIsAnErrorOfTheOthers) {
  const test::WithSettings short_wait([](auto& settings) { settings.peer_timeout_seconds = 1; });
  const Comm comm;
  if (comm.size == 1) GTEST_SKIP() << "needs another rank";
  const test::Stream stream;
  DeviceArray<float> values(std::vector<float>(8, 1.0F));
  if (comm.rank != 0) {
    ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 8, ncclFloat32, ncclSum, comm, stream),
              ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(comm.state(), ncclRemoteError);
    EXPECT_EQ(nccl().all_reduce(values.data(), values.data(), 8, ncclFloat32, ncclSum, comm, stream),
              ncclRemoteError);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_P(NcclFaults, AbortEndsWhatWaits) {
  Comm comm;
  if (comm.size == 1) GTEST_SKIP() << "needs another rank";
  const test::Stream stream;
  DeviceArray<float> values(std::vector<float>(8, 1.0F));
  if (comm.rank != 0) {
    ASSERT_EQ(nccl().all_reduce(values.data(), values.data(), 8, ncclFloat32, ncclSum, comm, stream),
              ncclSuccess);
    std::thread watchdog([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(nccl().comm_abort(std::exchange(comm.comm, nullptr)), ncclSuccess);
    });
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    watchdog.join();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace trireme
