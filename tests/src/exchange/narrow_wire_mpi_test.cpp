// SPDX-License-Identifier: Apache-2.0
// Narrow wires over messages: what one process makes of all ranks' roundings, bit for bit.
#include "models/models.h"
#include "src/comm/mpi_ring.h"
#include "tests/src/exchange/exchange_over_ranks.h"

namespace trireme {
namespace {

using testing_support::ExchangeOverRanks;
using testing_support::gradient_of;
using testing_support::small_net;
using testing_support::start_of;

std::unique_ptr<Communicator> make_ring(const Group& group, CommThread& thread) {
  return std::make_unique<MpiRing>(group, thread, CommTuning{.segment_bytes = 4096, .small_bytes = 1024});
}

class NarrowExchange : public ExchangeOverRanks, public testing::WithParamInterface<DType> {
 protected:
  explicit NarrowExchange(Graph graph = small_net()) : ExchangeOverRanks(std::move(graph), make_ring) {}

  std::vector<float> residual() {
    const std::span<float> own = exchange_->residual();
    return {own.begin(), own.end()};
  }
};

const auto kNarrowTypes = testing::Values(DType::bf16, DType::f16);
const auto type_name = [](const auto& type) { return std::string(name_of(type.param)); };
INSTANTIATE_TEST_SUITE_P(Types, NarrowExchange, kNarrowTypes, type_name);

TEST_P(NarrowExchange, EqualsOneProcessThatRoundsAndSumsAllGradients) {
  for (const std::size_t bucket_bytes : {std::size_t{256}, std::size_t{2000}, std::size_t{1} << 30})
    for (const bool nan_guard : {true, false})
      for (const double clip_norm : {0.0, 0.5})
        check(bucket_bytes, {.clip_norm = clip_norm, .nan_guard = nan_guard, .wire = GetParam()});
}

class NarrowExchangeOfResnet : public NarrowExchange {
 protected:
  NarrowExchangeOfResnet()
      : NarrowExchange(build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10})) {}
};
INSTANTIATE_TEST_SUITE_P(Types, NarrowExchangeOfResnet, kNarrowTypes, type_name);

TEST_P(NarrowExchangeOfResnet, EqualsOneProcessThatRoundsAndSumsAllGradients) {
  check(100000, {.wire = GetParam()});
}

TEST_P(NarrowExchangeOfResnet, RealNumbersGiveEqualBitsOnEveryRankAndOwnResiduals) {
  make_exchange(100000, {.clip_norm = 2, .wire = GetParam()});
  for (std::uint32_t step = 0; step < 5; ++step) {
    for (const FlatLayout::Entry& entry : layout_.entries)
      fill_normal(Philox(static_cast<std::uint64_t>(rank_), 95, step, entry.offset), 0.3F,
                  &gradients_[entry.offset], static_cast<std::int64_t>(entry.count));
    run_step(0.1);
    expect_equal_on_all_ranks(gradients_);
  }
  expect_equal_on_all_ranks(parameters_);
  const std::vector<float> mine = residual();
  const std::uint64_t hash = xxh3(mine.data(), mine.size() * sizeof(float));
  const std::vector<std::uint64_t> all = allgather_u64(communicator_, stream_, hash, "residuals");
  EXPECT_EQ(std::ranges::count(all, hash), 1) << "ranks with different gradients owe different things";
}

TEST_P(NarrowExchange, ASumTooLargeForTheWireStopsEveryRank) {
  if (ranks_ == 1) GTEST_SKIP() << "needs a second summand";
  make_exchange(512, {.nan_guard = true, .wire = GetParam()});
  std::ranges::copy(gradient_of(layout_, rank_, 0), gradients_.begin());
  const float large = GetParam() == DType::f16 ? 60000.0F : 3e38F;  // each has a finite rounding
  gradients_[3] = large;
  EXPECT_THROW(run_step(0.1), NonFiniteGradient);
  EXPECT_EQ(parameters_, start_of(layout_));
  for (const float owed : residual()) ASSERT_TRUE(std::isfinite(owed));
}

TEST_P(NarrowExchange, OneRanksOverflowStopsEveryRankAndPoisonsNoResidual) {
  make_exchange(512, {.nan_guard = true, .wire = GetParam()});
  std::ranges::copy(gradient_of(layout_, rank_, 0), gradients_.begin());
  if (rank_ == ranks_ - 1) gradients_[700] = std::numeric_limits<float>::max();
  EXPECT_THROW(run_step(0.1), NonFiniteGradient);
  EXPECT_EQ(parameters_, start_of(layout_));
  for (const float owed : residual()) ASSERT_TRUE(std::isfinite(owed));
}

}  // namespace
}  // namespace trireme
