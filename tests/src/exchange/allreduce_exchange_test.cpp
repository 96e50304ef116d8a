// SPDX-License-Identifier: Apache-2.0
// The order of events in one process; sums over several ranks are in allreduce_exchange_mpi_test.cpp.
#include "src/exchange/allreduce_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/optim/host_optimizer.h"
#include "tests/src/exchange/recording_communicator.h"
#include "tests/support/host_stream.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing_support::HostStream;
using testing_support::RecordingCommunicator;
using testing_support::small_net;

class RecordingOptimizer final : public HostOptimizer {
 public:
  RecordingOptimizer(const Graph& graph, const FlatLayout& layout, std::vector<std::string>& log)
      : HostOptimizer(graph, layout), log_(log) {}
  void step(ElementRange range, float* /*parameters*/, const float* /*gradients*/, double rate,
            double factor) override {
    log_.push_back(fmt::format("step {}..{} rate {} factor {}", range.begin, range.end, rate, factor));
  }
  std::vector<OptimizerState> state() override { return {}; }

 private:
  std::vector<std::string>& log_;
};

class AllReduceExchangeTest : public testing::Test {
 protected:
  AllReduceExchange make(std::size_t bucket_bytes, const AllReduceExchangeOptions& options) {
    return AllReduceExchange(graph_, layout_, BucketPlan(graph_, layout_, bucket_bytes), communicator_,
                             optimizer_, parameters_.data(), gradients_.data(), stream_, options);
  }
  void announce_all(AllReduceExchange& exchange) {
    for (const FlatLayout::Entry& entry : layout_.entries) exchange.gradient_ready(entry.parameter);
  }

  const Graph graph_ = small_net();
  const FlatLayout layout_{graph_};
  std::vector<float> parameters_ = std::vector<float>(layout_.elements),
                     gradients_ = std::vector<float>(layout_.elements);
  HostStream stream_;
  RecordingCommunicator communicator_;
  std::vector<std::string>& log_ = communicator_.log;
  RecordingOptimizer optimizer_{graph_, layout_, log_};
};

// The layout: fc.weight 0..64, fc.bias 64..128, conv2.weight 128..832 (11*3*3*7 = 693), bn1 weight, bias,
// mean, var 832..1088, conv1.weight 1088..1280 (189), conv1.bias 1280..1344.
TEST_F(AllReduceExchangeTest, ABucketLeavesWithItsLastEntryInPlanOrder) {
  AllReduceExchange exchange = make(2048, {});
  const BucketPlan plan(graph_, layout_, 2048);
  ASSERT_EQ(plan.buckets.size(), 4U);  // 0..128, 128..640, 640..1152, 1152..1344
  const std::size_t sent_after_entry[] = {0, 1, 2, 2, 2, 2, 2, 3, 4};
  ASSERT_EQ(layout_.entries.size(), std::size(sent_after_entry));
  for (std::size_t e = 0; e < layout_.entries.size(); ++e) {
    exchange.gradient_ready(layout_.entries[e].parameter);
    EXPECT_EQ(log_.size(), sent_after_entry[e]) << "after entry " << e;
  }
  EXPECT_THAT(log_, ElementsAre("send 128", "send 512", "send 512", "send 192"));
}

TEST_F(AllReduceExchangeTest, StepsTheWholeBufferOnceWhereTheGuardNeedsIt) {
  AllReduceExchange exchange = make(2048, {.nan_guard = true});
  announce_all(exchange);
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_, ElementsAre("wait 1", "wait 2", "wait 3", "wait 4", "step 0..1344 rate 0.5 factor 1"));
}

TEST_F(AllReduceExchangeTest, StepsBucketByBucketWhereNothingNeedsTheWhole) {
  AllReduceExchange exchange = make(2048, {.nan_guard = false});
  announce_all(exchange);
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_,
              ElementsAre("wait 1", "step 0..128 rate 0.5 factor 1", "wait 2",
                          "step 128..640 rate 0.5 factor 1", "wait 3", "step 640..1152 rate 0.5 factor 1",
                          "wait 4", "step 1152..1344 rate 0.5 factor 1"));
}

TEST_F(AllReduceExchangeTest, ClipsByTheNormOfTrainableGradients) {
  // Norm 13 over trainable parameters; the statistic does not count.
  gradients_[layout_.entries[0].offset] = 3;
  gradients_[layout_.entries[2].offset] = 4;
  gradients_[layout_.entries[8].offset] = 12;
  for (const FlatLayout::Entry& entry : layout_.entries)
    if (graph_.parameter(entry.parameter).is_statistic()) gradients_[entry.offset] = 1000;
  AllReduceExchange exchange = make(1 << 20, {.clip_norm = 1, .nan_guard = false});
  announce_all(exchange);
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_, ElementsAre("wait 1", fmt::format("step 0..1344 rate 0.5 factor {}", 1 / (13 + 1e-6))));
}

TEST_F(AllReduceExchangeTest, AGradientWithinTheNormIsNotClipped) {
  gradients_[0] = 3;
  AllReduceExchange exchange = make(1 << 20, {.clip_norm = 3.5});
  announce_all(exchange);
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_, ElementsAre("wait 1", "step 0..1344 rate 0.5 factor 1"));
}

TEST_F(AllReduceExchangeTest, NoStepIsTakenWithANonFiniteGradientAndTheNextStepIsNormal) {
  AllReduceExchange exchange = make(2048, {.clip_norm = 1, .nan_guard = true});
  gradients_[700] = std::numeric_limits<float>::quiet_NaN();
  announce_all(exchange);
  log_.clear();
  EXPECT_THROW(exchange.finish_step(0.5), NonFiniteGradient);
  EXPECT_THAT(log_, ElementsAre("wait 1", "wait 2", "wait 3", "wait 4"));  // nothing stays in flight
  exchange.settle();
  gradients_[700] = 0;
  announce_all(exchange);
  exchange.finish_step(0.5);
  EXPECT_EQ(log_.back(), "step 0..1344 rate 0.5 factor 1");
}

TEST_F(AllReduceExchangeTest, AScaledLossThatOverflowsSkipsTheStepAndIsNoError) {
  AllReduceExchange exchange = make(2048, {.nan_guard = true, .skips_overflows = true});
  gradients_[700] = std::numeric_limits<float>::infinity();
  announce_all(exchange);
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_, ElementsAre("wait 1", "wait 2", "wait 3", "wait 4"));
  gradients_[700] = 0;
  announce_all(exchange);
  exchange.finish_step(0.5);
  EXPECT_EQ(log_.back(), "step 0..1344 rate 0.5 factor 1");
}

TEST_F(AllReduceExchangeTest, RefusesGradientsOutOfOrder) {
  AllReduceExchange exchange = make(2048, {});
  EXPECT_THROW(exchange.gradient_ready(layout_.entries[1].parameter), Error);
  exchange.gradient_ready(layout_.entries[0].parameter);
  EXPECT_THROW(exchange.gradient_ready(layout_.entries[0].parameter), Error);
}

TEST_F(AllReduceExchangeTest, RefusesToFinishOrSettleHalfAStep) {
  AllReduceExchange exchange = make(2048, {});
  exchange.gradient_ready(layout_.entries[0].parameter);
  EXPECT_THROW(exchange.finish_step(0.1), Error);
  EXPECT_THROW(exchange.settle(), Error);
}

TEST_F(AllReduceExchangeTest, AnFp32WireSendsTheGradientBufferItself) {
  AllReduceExchange exchange = make(2048, {});
  announce_all(exchange);
  const BucketPlan plan(graph_, layout_, 2048);
  ASSERT_EQ(communicator_.sent.size(), plan.buckets.size());
  for (std::size_t b = 0; b < plan.buckets.size(); ++b)
    EXPECT_EQ(communicator_.sent[b].tensor.data, &gradients_[plan.buckets[b].range.begin]);
  EXPECT_EQ(communicator_.allocated, 0U);
  EXPECT_TRUE(exchange.residual().empty());
}

TEST_F(AllReduceExchangeTest, ANarrowWireKeepsTheOrderOfBuckets) {
  AllReduceExchange exchange = make(2048, {.nan_guard = false, .wire = DType::bf16});
  announce_all(exchange);
  // Each bucket's weights, then its statistics, of which only the third has some.
  EXPECT_THAT(log_, ElementsAre("send 128", "send 0", "send 512", "send 0", "send 384", "send 128",
                                "send 192", "send 0"));
  log_.clear();
  exchange.finish_step(0.5);
  EXPECT_THAT(log_, ElementsAre("wait 1", "wait 2", "step 0..128 rate 0.5 factor 1", "wait 3", "wait 4",
                                "step 128..640 rate 0.5 factor 1", "wait 5", "wait 6",
                                "step 640..1152 rate 0.5 factor 1", "wait 7", "wait 8",
                                "step 1152..1344 rate 0.5 factor 1"));
}

TEST_F(AllReduceExchangeTest, ClipsByTheNormOfWhatTheNarrowWireBrought) {
  gradients_[0] = 3 + 0x1p-10F;  // rounds to 3
  gradients_[200] = -4;
  gradients_[960] = 1000;  // a statistic
  AllReduceExchange exchange = make(2048, {.clip_norm = 1, .wire = DType::bf16});
  announce_all(exchange);
  exchange.finish_step(0.5);
  EXPECT_EQ(log_.back(), fmt::format("step 0..1344 rate 0.5 factor {}", 1 / (5 + 1e-6)));
  EXPECT_EQ(exchange.residual()[0], 0x1p-10F);
  EXPECT_EQ(gradients_[960], 1000);
}

TEST_F(AllReduceExchangeTest, AValueTooLargeForTheWireStopsTheStepAndNoneAfterIt) {
  AllReduceExchange exchange = make(2048, {.nan_guard = true, .wire = DType::f16});
  gradients_[700] = 1e6F;
  announce_all(exchange);
  log_.clear();
  EXPECT_THROW(exchange.finish_step(0.5), NonFiniteGradient);
  EXPECT_EQ(log_.size(), 8U);  // all waited for, no step
  gradients_[700] = 1;
  announce_all(exchange);
  exchange.finish_step(0.5);
  EXPECT_EQ(log_.back(), "step 0..1344 rate 0.5 factor 1");
  EXPECT_EQ(gradients_[700], 1);
}

}  // namespace
}  // namespace trireme
