// SPDX-License-Identifier: Apache-2.0
// What tests of NCCL between emulated GPUs share: a communicator of all ranks, and values of them.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <thread>
#include <type_traits>
#include <vector>

#include "src/comm/nccl_emulated/emulated_nccl.h"
#include "src/core/half.h"
#include "tests/kernels/simt/stream_objects.h"

namespace trireme::test {

using simt::emulator::StreamMode;

inline const NcclApi& nccl() {
  return emulated_nccl();
}

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// All ranks of the world, or with `reversed` the same in the other order; met without blocking.
class Comm {
 public:
  explicit Comm(bool reversed = false)
      : rank(reversed ? world_size() - 1 - world_rank() : world_rank()), size(world_size()) {
    ncclUniqueId id;
    if (rank == 0) {
      EXPECT_EQ(nccl().get_unique_id(&id), ncclSuccess);
    }
    MPI_Bcast(&id, sizeof id, MPI_BYTE, reversed ? size - 1 : 0, MPI_COMM_WORLD);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    EXPECT_EQ(nccl().comm_init_rank_config(&comm, size, id, rank, &config), ncclInProgress);
    EXPECT_EQ(state(), ncclInProgress);
    ncclResult_t now = state();
    for (; now == ncclInProgress; now = state()) std::this_thread::yield();
    EXPECT_EQ(now, ncclSuccess) << nccl().get_last_error(comm);
  }
  ~Comm() {
    if (comm != nullptr) nccl().comm_abort(comm);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  ncclResult_t state() const {
    ncclResult_t now = ncclInternalError;
    EXPECT_EQ(nccl().comm_get_async_error(comm, &now), ncclSuccess);
    return now;
  }
  operator ncclComm_t() const { return comm; }

  const int rank, size;
  ncclComm_t comm = nullptr;
};

/// Each test in both modes, lazy ones with several seeds.
class NcclTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  const WithStreams with_{GetParam() < 0 ? StreamMode::eager : StreamMode::lazy,
                          static_cast<unsigned>(GetParam() < 0 ? 0 : GetParam())};
};
/// The value of element i of a rank, small enough for any type.
inline int value_of(int rank, std::size_t i) {
  return 1 + (rank * 3 + static_cast<int>(i)) % 5;
}

template <typename T>
T as(int value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <typename T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = as<T>(value_of(rank, i));
  return values;
}

}  // namespace trireme::test
