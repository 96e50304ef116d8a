// SPDX-License-Identifier: Apache-2.0
// What goes wrong with NCCL, and what it is asked for: some of its functions are replaced by ones that do
// what the test says.
#include "src/comm/nccl/nccl_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "src/comm/mpi_progress.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/gpu/gpu_rank.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::all_ranks;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::GpuRank;
using testing_support::kTimeout;
using testing_support::OnDevice;
using testing_support::StreamsScope;

constexpr std::int64_t kCount = 5003;

/// What the replaced functions do and have seen. NCCL's signatures leave no other way to it.
struct Script {
  std::atomic<bool> is_broken{false}, is_stuck{false};
  std::atomic<int> looks_in_progress{0}, aborts{0};
  std::string algorithm;  ///< NCCL_ALGO while a communicator was made
};
Script& script() {
  static Script the_one;
  return the_one;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

ncclResult_t scripted_state(ncclComm_t comm, ncclResult_t* state) {
  const ncclResult_t result = emulated_nccl().comm_get_async_error(comm, state);
  if (script().is_broken) *state = ncclRemoteError;
  if (script().is_stuck || (script().looks_in_progress > 0 && script().looks_in_progress-- > 0))
    *state = ncclInProgress;
  return result;
}

NcclApi scripted_nccl() {
  NcclApi api = emulated_nccl();
  api.comm_get_async_error = scripted_state;
  api.comm_abort = [](ncclComm_t comm) {
    ++script().aborts;
    return emulated_nccl().comm_abort(comm);
  };
  api.comm_init_rank_config = [](ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                 ncclConfig_t* config) {
    EXPECT_EQ(config->blocking, 0);
    script().algorithm = variable("NCCL_ALGO");
    return emulated_nccl().comm_init_rank_config(comm, size, id, rank, config);
  };
  api.all_reduce = [](const void* send, void* receive, std::size_t count, ncclDataType_t type,
                      ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
    const ncclResult_t result =
        emulated_nccl().all_reduce(send, receive, count, type, operation, comm, stream);
    return result == ncclSuccess && script().looks_in_progress > 0 ? ncclInProgress : result;
  };
  return api;
}

/// On two ranks and more.
class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    if (group_.size() == 1) GTEST_SKIP() << "one rank needs no NCCL";
    script().is_broken = script().is_stuck = false;
    script().looks_in_progress = script().aborts = 0;
  }
  void TearDown() override {
    thread_.reset();  // before the communicator, as its contract says
    nccl_.reset();
    all_ranks().barrier(kTimeout, "the end of the test");
  }

  void connect(NcclAlgorithm algorithm = NcclAlgorithm::chosen_by_nccl) {
    nccl_ = std::make_unique<Nccl>(group_, *thread_, rank_.gpu, algorithm);
  }
  OnDevice<float> own_values() { return {*rank_.device, *nccl_, exact_values<float>(group_.rank(), kCount)}; }
  Ticket sum(const OnDevice<float>& values, std::string_view what) {
    const Ticket ticket = nccl_->allreduce(values.tensor(), rank_.stream(), what);
    nccl_->wait(ticket, rank_.stream());
    return ticket;
  }
  static Error error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error;
    }
    return Error(Status::ok, "no error");
  }

  const StreamsScope streams_{5};
  const NcclApi api_ = scripted_nccl();
  Group group_ = all_ranks();
  GpuRank rank_{&api_};
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  std::unique_ptr<Nccl> nccl_;
};

TEST_F(NcclTest, WaitingDoesNotHoldUpTheHost) {
  connect();
  const OnDevice<float> values = own_values();
  const auto others_have_waited = [&] { group_.barrier(kTimeout, "the other ranks"); };
  if (group_.rank() == 0) others_have_waited();
  const Ticket ticket = sum(values, "test");
  if (group_.rank() != 0) {
    EXPECT_FALSE(nccl_->done(ticket)) << "rank 0 has not come";
    others_have_waited();
  }
  EXPECT_EQ(values.values(), exact_sums<float>(group_.size(), kCount));
}

TEST_F(NcclTest, CallsThatNcclTakesItsTimeForAreAwaited) {
  connect();
  const OnDevice<float> values = own_values();
  script().looks_in_progress = 20;
  sum(values, "test");
  EXPECT_EQ(script().looks_in_progress, 0);
  EXPECT_EQ(values.values(), exact_sums<float>(group_.size(), kCount));
}

TEST_F(NcclTest, ARankThatDoesNotComeIsNamedAndNothingHangsOnTheDevice) {
  thread_ =
      std::make_unique<CommThread>(std::make_unique<MpiProgress>(group_, kTimeout), WaitLimit(kTimeout));
  connect();
  const OnDevice<float> values = own_values();
  thread_->wait(sum(values, "bucket 1"));
  thread_->set_limit(std::chrono::duration<double>(0.5));
  if (group_.rank() != 0) {
    const Ticket ticket = sum(values, "bucket 2 (fc.weight)");
    const Stopwatch clock;
    rank_.stream().synchronize();  // ends because the communicator is aborted
    EXPECT_LT(clock.seconds(), 10);
    const Error error = error_of([&] { thread_->wait(ticket); });
    EXPECT_EQ(error.status(), Status::peer_gone);
    if (group_.rank() == 1) {
      EXPECT_THAT(error.what(), HasSubstr("waited 0.5 s for allreduce of bucket 2 (fc.weight)"));
      EXPECT_THAT(error.what(), HasSubstr("rank 0 on"));
    }
    EXPECT_EQ(script().aborts, 1);
    EXPECT_THROW(nccl_->allreduce(values.tensor(), rank_.stream(), "bucket 3"), Error);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

TEST_F(NcclTest, AnAsyncErrorEndsTheWaitAndAborts) {
  connect();
  const OnDevice<float> values = own_values();
  script().is_broken = true;
  const Error error = error_of([&] { thread_->wait(sum(values, "bucket 2")); });
  EXPECT_EQ(error.status(), Status::peer_gone);
  EXPECT_THAT(error.what(), HasSubstr("NCCL failed: remote process exited"));
  EXPECT_THAT(error.what(), HasSubstr("allreduce of bucket 2"));
  thread_.reset();
  EXPECT_EQ(script().aborts, 1);
  rank_.stream().synchronize();
}

TEST_F(NcclTest, ACallThatNcclRefusesIsTheConfigurationsFault) {
  connect();
  std::vector<float> on_the_host(10);
  const Error error =
      error_of([&] { nccl_->allreduce(row_of(on_the_host.data(), 10), rank_.stream(), "bucket 2"); });
  EXPECT_EQ(error.status(), Status::configuration);
  EXPECT_THAT(error.what(), HasSubstr("NCCL failed: invalid argument"));
  EXPECT_THAT(error.what(), HasSubstr("allreduce of bucket 2"));
}

TEST_F(NcclTest, RanksThatNcclCannotConnectAreGivenUpAtTheDeadline) {
  thread_ = std::make_unique<CommThread>(std::chrono::milliseconds(300));
  script().is_stuck = true;
  const Error error = error_of([&] { connect(); });
  EXPECT_EQ(error.status(), Status::peer_gone);
  EXPECT_THAT(error.what(), HasSubstr("NCCL to connect the GPUs"));
  EXPECT_EQ(script().aborts, 1);
}

TEST_F(NcclTest, TheRingIsAskedForAndTheVariableGoesAgain) {
  connect(NcclAlgorithm::ring);
  EXPECT_EQ(script().algorithm, "Ring");
  EXPECT_EQ(variable("NCCL_ALGO"), "");
  EXPECT_THAT(nccl_->description(), HasSubstr("nccl-ring: NCCL 2."));
  EXPECT_THAT(nccl_->description(), HasSubstr("NCCL_ALGO=Ring"));
}

TEST_F(NcclTest, WhatTheSiteHasSetStays) {
  setenv("NCCL_ALGO", "Tree", 1);
  connect(NcclAlgorithm::ring);
  EXPECT_EQ(script().algorithm, "Tree");
  EXPECT_EQ(variable("NCCL_ALGO"), "Tree");
  EXPECT_THAT(nccl_->description(), HasSubstr("NCCL_ALGO=Tree"));
  unsetenv("NCCL_ALGO");
}

TEST_F(NcclTest, MemoryMayOutliveTheCommunicator) {
  connect();
  const auto memory = nccl_->allocate(1000);
  thread_.reset();
  nccl_.reset();
  rank_.device->zero(memory->data(), memory->bytes(), rank_.stream());
  rank_.stream().synchronize();
  EXPECT_EQ(script().aborts, 0);
}

}  // namespace
}  // namespace trireme
