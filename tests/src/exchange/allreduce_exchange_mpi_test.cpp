// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <thread>

#include "models/models.h"
#include "tests/src/exchange/exchange_over_ranks.h"

namespace trireme {
namespace {

using testing_support::ExchangeOverRanks;
using testing_support::gradient_of;
using testing_support::kTimeout;
using testing_support::start_of;

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

TEST_F(ExchangeOverRanks, MeasuresAnExchangeAloneAndLeavesNoTrace) {
  optimizer_ = make_sgd(graph_, layout_, {}, communicator_);
  make_exchange(512, {});
  std::ranges::fill(gradients_, 0.0F);
  group_.barrier(kTimeout, "the start");
  const Stopwatch clock;
  const double alone = exchange_->measure_alone();
  EXPECT_LE(alone, clock.seconds());
  EXPECT_EQ(alone > 0, ranks_ > 1);
  EXPECT_EQ(exchange_->wait_seconds(), 0);
  std::ranges::copy(gradient_of(layout_, rank_, 0), gradients_.begin());
  run_step(0.1);
  EXPECT_EQ(parameters_, expected_after(1, 0.1, {}));
}

TEST_F(ExchangeOverRanks, MayEndWithBucketsInFlight) {
  make_exchange(256, {});
  for (std::size_t e = 0; e < 4; ++e) exchange_->gradient_ready(layout_.entries[e].parameter);
  exchange_.reset();
  expect_equal_on_all_ranks({1.0F});
}

}  // namespace
}  // namespace trireme
