// SPDX-License-Identifier: Apache-2.0
// R ranks with different gradients against one process that sums them and steps; bits equal on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "models/models.h"
#include "src/comm/mpi_library.h"
#include "src/comm/scalar_record.h"
#include "src/core/hash.h"
#include "src/core/philox.h"
#include "src/exchange/allreduce_exchange.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

using testing_support::all_ranks;
using testing_support::HostStream;
using testing_support::kTimeout;
using testing_support::small_net;

/// One rank's gradient of one step: multiples of 2^-8 below 4, whose sums over few ranks are exact in fp32.
std::vector<float> gradient_of(const FlatLayout& layout, int rank, int step) {
  std::vector<float> gradient(layout.elements);
  Philox random(5, 92, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(rank));
  for (const FlatLayout::Entry& entry : layout.entries)
    for (std::size_t i = 0; i < entry.count; ++i)
      gradient[entry.offset + i] = (static_cast<float>(random.next_below(2048)) - 1024.0F) / 256.0F;
  return gradient;
}

std::vector<float> start_of(const FlatLayout& layout) {
  std::vector<float> parameters(layout.elements);
  for (const FlatLayout::Entry& entry : layout.entries)
    fill_normal(Philox(6, 92, 0, static_cast<std::uint64_t>(entry.parameter)), 1.0F,
                &parameters[entry.offset], static_cast<std::int64_t>(entry.count));
  return parameters;
}

class ExchangeOverRanks : public testing::Test {
 protected:
  explicit ExchangeOverRanks(Graph graph = small_net()) : graph_(std::move(graph)) {}

  void TearDown() override {
    exchange_.reset();
    thread_.reset();
  }

  void make_exchange(std::size_t bucket_bytes, const AllReduceExchangeOptions& options) {
    exchange_ = std::make_unique<AllReduceExchange>(
        graph_, layout_, BucketPlan(graph_, layout_, bucket_bytes), communicator_, *optimizer_,
        parameters_.data(), gradients_.data(), stream_, options);
  }

  void run_step(double rate) {
    for (const Parameter& parameter : graph_.parameters())
      exchange_->parameter_needed(static_cast<ParamId>(&parameter - graph_.parameters().data()));
    for (const FlatLayout::Entry& entry : layout_.entries) exchange_->gradient_ready(entry.parameter);
    exchange_->finish_step(rate);
  }

  /// The same steps in one process: the sum over ranks, then the step.
  std::vector<float> expected_after(int steps, double rate, const AllReduceExchangeOptions& options) {
    HostMemory memory;
    const auto sgd = make_sgd(graph_, layout_, {}, memory);
    std::vector<float> parameters = start_of(layout_);
    for (int step = 0; step < steps; ++step) {
      std::vector<float> sum(layout_.elements);
      for (int rank = 0; rank < ranks_; ++rank) {
        const std::vector<float> one = gradient_of(layout_, rank, step);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
      }
      double factor = 1;
      if (options.clip_norm > 0)
        factor =
            std::min(1.0, options.clip_norm / (std::sqrt(squared_norm(graph_, layout_, sum.data())) + 1e-6));
      sgd->step({0, layout_.elements}, parameters.data(), sum.data(), rate, factor);
    }
    return parameters;
  }

  void check(std::size_t bucket_bytes, const AllReduceExchangeOptions& options) {
    optimizer_ = make_sgd(graph_, layout_, {}, communicator_);
    parameters_ = start_of(layout_);
    make_exchange(bucket_bytes, options);
    constexpr int kSteps = 3;
    for (int step = 0; step < kSteps; ++step) {
      std::ranges::copy(gradient_of(layout_, rank_, step), gradients_.begin());
      run_step(0.1);
    }
    exchange_->settle();
    EXPECT_EQ(parameters_, expected_after(kSteps, 0.1, options));
    expect_equal_on_all_ranks(parameters_);
    exchange_.reset();
  }

  void expect_equal_on_all_ranks(const std::vector<float>& values) {
    const std::uint64_t mine = xxh3(values.data(), values.size() * sizeof(float));
    for (const std::uint64_t hash : allgather_u64(communicator_, stream_, mine, "hashes"))
      EXPECT_EQ(hash, mine);
  }

  Graph graph_;
  const FlatLayout layout_{graph_};
  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  MpiLibrary communicator_{group_, *thread_};
  const int rank_ = group_.rank(), ranks_ = group_.size();
  std::unique_ptr<Optimizer> optimizer_ = make_sgd(graph_, layout_, {}, communicator_);
  std::vector<float> parameters_ = start_of(layout_), gradients_ = std::vector<float>(layout_.elements);
  std::unique_ptr<AllReduceExchange> exchange_;
};

TEST_F(ExchangeOverRanks, EqualsOneProcessThatSumsAllGradients) {
  for (const std::size_t bucket_bytes : {std::size_t{256}, std::size_t{2000}, std::size_t{1} << 30})
    for (const bool nan_guard : {true, false})
      for (const double clip_norm : {0.0, 0.5, 1e6})
        check(bucket_bytes, {.clip_norm = clip_norm, .nan_guard = nan_guard});
}

class ExchangeOfResnet : public ExchangeOverRanks {
 protected:
  ExchangeOfResnet()
      : ExchangeOverRanks(build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10})) {}
};

TEST_F(ExchangeOfResnet, EqualsOneProcessThatSumsAllGradients) {
  check(100000, {});
  check(100000, {.nan_guard = false});
}

TEST_F(ExchangeOfResnet, RealNumbersGiveEqualBitsOnEveryRank) {
  make_exchange(100000, {.clip_norm = 2});
  for (int step = 0; step < 5; ++step) {
    for (const FlatLayout::Entry& entry : layout_.entries)
      fill_normal(
          Philox(static_cast<std::uint64_t>(rank_), 93, static_cast<std::uint32_t>(step), entry.offset), 0.3F,
          &gradients_[entry.offset], static_cast<std::int64_t>(entry.count));
    run_step(0.1);
  }
  expect_equal_on_all_ranks(parameters_);
  const OptimizerState momentum = optimizer_->state()[0];
  expect_equal_on_all_ranks({momentum.values, momentum.values + layout_.elements});
}

TEST_F(ExchangeOverRanks, StatisticsMoveToTheSumOfTheRanksShares) {
  make_exchange(2000, {.clip_norm = 1e-3});
  for (float& gradient : gradients_) gradient = static_cast<float>(rank_ + 1);
  run_step(0.1);
  const auto sum = static_cast<float>(ranks_ * (ranks_ + 1) / 2);
  int statistics = 0;
  for (const FlatLayout::Entry& entry : layout_.entries) {
    if (!graph_.parameter(entry.parameter).is_statistic()) continue;
    ++statistics;
    const std::vector<float> start = start_of(layout_);
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      EXPECT_NEAR(parameters_[i], 0.9F * start[i] + 0.1F * sum, 1e-6);
  }
  EXPECT_EQ(statistics, 2);
}

TEST_F(ExchangeOverRanks, OneRanksNonFiniteGradientStopsEveryRankBeforeAnythingChanges) {
  for (const FlatLayout::Entry& entry : layout_.entries) {  // parameters and statistics alike
    make_exchange(512, {.nan_guard = true});
    std::ranges::copy(gradient_of(layout_, rank_, 0), gradients_.begin());
    if (rank_ == ranks_ - 1)
      gradients_[entry.offset + entry.count - 1] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(run_step(0.1), NonFiniteGradient);
    EXPECT_EQ(parameters_, start_of(layout_));
    const float* momentum = optimizer_->state()[0].values;
    EXPECT_TRUE(std::all_of(momentum, momentum + layout_.elements, [](float value) { return value == 0; }));
    exchange_.reset();
  }
  make_exchange(512, {.nan_guard = true});
  std::ranges::copy(gradient_of(layout_, rank_, 0), gradients_.begin());
  run_step(0.1);
  EXPECT_EQ(parameters_, expected_after(1, 0.1, {}));
}

TEST_F(ExchangeOverRanks, CountsTheTimeThatItWaitsForALateRank) {
  if (ranks_ == 1) GTEST_SKIP() << "needs a second rank";
  make_exchange(2000, {});
  group_.barrier(kTimeout, "the start");
  if (rank_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  run_step(0.1);
  EXPECT_GE(exchange_->wait_seconds(), rank_ == 0 ? 0 : 0.1);
}

TEST_F(ExchangeOverRanks, MayEndWithBucketsInFlight) {
  make_exchange(256, {});
  for (std::size_t e = 0; e < 4; ++e) exchange_->gradient_ready(layout_.entries[e].parameter);
  exchange_.reset();
  expect_equal_on_all_ranks({1.0F});
}

}  // namespace
}  // namespace trireme
