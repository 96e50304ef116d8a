// SPDX-License-Identifier: Apache-2.0
// Rows that are measured over ranks: what a right and a wrong communicator give.
#include <gmock/gmock.h>

#include <bit>

#include "src/cli/bench_rounds.h"
#include "src/comm/scalar_record.h"
#include "tests/src/cli/command_line.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::HostStream;
using testing_support::kTimeout;

// Passes everything on; the sums of one rank are spoilt from the call `first_wrong_call` on.
class SpoiltSums final : public Communicator {
 public:
  SpoiltSums(Communicator& inner, int rank, int first_wrong_call)
      : inner_(inner), rank_(rank), first_wrong_call_(first_wrong_call) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string_view name() const override { return "spoilt"; }
  std::string description() const override { return "spoilt sums"; }
  bool can_sum(DType type) const override { return inner_.can_sum(type); }
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) override {
    tensor_ = tensor;
    return inner_.allreduce(tensor, stream, what);
  }
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) override {
    return inner_.reduce_scatter(tensor, result, stream, what);
  }
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                   std::string_view what) override {
    return inner_.allgather(tensor, result, stream, what);
  }
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) override {
    return inner_.broadcast(tensor, root, stream, what);
  }
  void wait(Ticket ticket, Stream& stream) override {
    inner_.wait(ticket, stream);
    if (rank() == rank_ && calls_++ >= first_wrong_call_) tensor_.as<float>()[tensor_.count() - 1] += 1;
  }
  bool done(Ticket ticket) override { return inner_.done(ticket); }

 private:
  Communicator& inner_;
  int rank_, first_wrong_call_, calls_ = 0;
  Tensor tensor_;
};

class AllReduceBenchTest : public testing::Test {
 protected:
  AllReduceRow measure(Communicator& tested, std::int64_t bytes, const BenchRounds& rounds = {3, 1}) {
    AllReduceBench bench(tested, *control_, stream_, rounds, static_cast<std::size_t>(bytes));
    return bench.measure({bytes, "note"});
  }

  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  std::unique_ptr<Communicator> tested_ = make_communicator({"mpi"}, group_, *thread_);
  std::unique_ptr<Communicator> control_ = make_communicator({"mpi"}, group_, *thread_);

  void TearDown() override { thread_.reset(); }  // ends before the communicators do
};

TEST_F(AllReduceBenchTest, ARowIsTheSameOnAllRanks) {
  const AllReduceRow row = measure(*tested_, 40000);
  EXPECT_EQ(row.communicator, "mpi");
  EXPECT_EQ(row.size, (SweepSize{40000, "note"}));
  EXPECT_EQ(row.ranks, control_->size());
  EXPECT_EQ(row.wrong, 0);
  EXPECT_EQ(row.rounds, 3);
  EXPECT_GT(row.seconds, 0);
  const auto of_ranks =
      allgather_u64(*control_, stream_, std::bit_cast<std::uint64_t>(row.seconds), "seconds");
  EXPECT_THAT(of_ranks, testing::Each(of_ranks.front()));
}

TEST_F(AllReduceBenchTest, OneWrongElementOnOneRankIsCountedOnAll) {
  const int last = control_->size() - 1;
  SpoiltSums spoilt(*tested_, last, 0);
  EXPECT_EQ(measure(spoilt, 4096).wrong, 2);  // in the check before the rounds and in that after them
}

TEST_F(AllReduceBenchTest, SumsThatGoWrongLaterAreFoundToo) {
  SpoiltSums spoilt(*tested_, 0, 2);
  EXPECT_EQ(measure(spoilt, 4096).wrong, 1);
}

TEST_F(AllReduceBenchTest, SlowMessagesHaveFewerRoundsButOne) {
  EXPECT_EQ(measure(*tested_, 4096, {.timed = 50, .warm_up = 3, .most_seconds = 1e-12}).rounds, 1);
  EXPECT_EQ(measure(*tested_, 4096, {.timed = 2, .warm_up = 0, .most_seconds = 1000}).rounds, 2);
}

TEST(BenchCommand, RankZeroPrintsATableOrThatThereIsNoTraffic) {
  const LaunchFacts launch = read_launch_facts();
  const Outcome outcome =
      run_words({"bench", "allreduce", "--comm", "mpi", "-b", "1K", "-e", "2K", "-n", "2", "-w", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  if (launch.rank != 0)
    EXPECT_EQ(outcome.out + outcome.err, "");
  else if (launch.promised_ranks == 1)
    EXPECT_THAT(outcome.out, testing::StartsWith("# one rank: there is no traffic"));
  else
    EXPECT_THAT(outcome.out, testing::HasSubstr("# average bus bandwidth in GB/s: mpi "));
}

}  // namespace
}  // namespace trireme
