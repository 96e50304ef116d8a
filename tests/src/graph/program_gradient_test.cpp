// SPDX-License-Identifier: Apache-2.0
// Gradients of a Program against finite differences, and against the same graph planned without any sharing
// of memory.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/src/graph/naive_device.h"
#include "tests/src/graph/net.h"
#include "tests/src/graph/small_nets.h"

namespace trireme::testing {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr double kStep = 1e-3;

const std::vector<Fusion> kReluFusions = {Fusion::conv_relu, Fusion::linear_relu, Fusion::batch_norm_relu,
                                          Fusion::add_relu};
const std::vector<Fusion> kAllFusions = {Fusion::conv_relu, Fusion::linear_relu, Fusion::batch_norm_relu,
                                         Fusion::add_relu, Fusion::batch_norm_add};

class EverySmallNet : public ::testing::TestWithParam<SmallNet> {};

// Nudges an element both ways and restores it. A ReLU may switch within a step, so the slopes of both sides
// count as well as the one over both, for two step sizes: a wrong gradient agrees with none.
double difference_error(Net& net, TestBatch& batch, float* weight, double analytic) {
  double error = std::numeric_limits<double>::infinity();
  const float before = *weight;
  const double loss = net.loss(batch);
  for (double step : {kStep, kStep / 4}) {
    *weight = static_cast<float>(before + step);
    const double above = *weight, loss_above = net.loss(batch);
    *weight = static_cast<float>(before - step);
    const double below = *weight, loss_below = net.loss(batch);
    for (double slope : {(loss_above - loss_below) / (above - below), (loss_above - loss) / (above - before),
                         (loss - loss_below) / (before - below)})
      error = std::min(error, std::abs(slope - analytic));
  }
  *weight = before;
  return error;
}

TEST_P(EverySmallNet, gradients_agree_with_finite_differences) {
  NaiveDevice device({.fusions = kAllFusions});
  Net net(GetParam().build(), device, kBatch);
  TestBatch batch(net.graph, kBatch, kBatch);
  const std::vector<float> gradients = net.step(batch);
  int checked = 0;
  for (const FlatLayout::Entry& entry : net.layout.entries) {
    const Parameter& parameter = net.graph.parameter(entry.parameter);
    if (parameter.is_statistic()) continue;
    const std::size_t stride = std::max<std::size_t>(1, entry.count / 7);
    for (std::size_t i = 0; i < entry.count; i += stride, ++checked) {
      const double analytic = gradients[entry.offset + i];
      EXPECT_LT(difference_error(net, batch, net.weights() + entry.offset + i, analytic),
                5e-4 + 2e-3 * std::abs(analytic))
          << parameter.name << "[" << i << "] = " << analytic;
    }
  }
  EXPECT_GT(checked, 10);
}

TEST_P(EverySmallNet, sharing_memory_changes_no_bit) {
  NaiveDevice plain({.in_place = false, .alias = false, .adds_gradients = false});
  Net reference(GetParam().build(), plain, kBatch);
  TestBatch batch(reference.graph, kBatch, kBatch);
  const std::vector<float> expected = reference.step(batch);
  for (bool in_place : {false, true})
    for (bool alias : {false, true})
      for (bool fusion : {false, true}) {
        const bool adds = in_place != alias;
        NaiveDevice device({in_place, alias, adds, fusion ? kReluFusions : std::vector<Fusion>{}});
        Net net(GetParam().build(), device, kBatch);
        EXPECT_EQ(net.step(batch), expected) << in_place << alias << fusion;
        EXPECT_EQ(net.step(batch), expected) << "second step of " << in_place << alias << fusion;
        EXPECT_LE(net.arena->bytes(), reference.arena->bytes());
      }
}

// A batch norm that moves to its addition changes the order in which gradients are summed.
TEST_P(EverySmallNet, batch_norms_that_add_give_the_same_gradients) {
  NaiveDevice plain({.in_place = false, .alias = false, .adds_gradients = false});
  Net reference(GetParam().build(), plain, kBatch);
  TestBatch batch(reference.graph, kBatch, kBatch);
  const std::vector<float> expected = reference.step(batch);
  for (bool in_place : {false, true})
    for (bool adds : {false, true}) {
      NaiveDevice device({.in_place = in_place, .adds_gradients = adds, .fusions = kAllFusions});
      Net net(GetParam().build(), device, kBatch);
      const std::vector<float> gradients = net.step(batch);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(gradients[i], expected[i], 1e-6 + 1e-5 * std::abs(expected[i])) << i << in_place << adds;
    }
}

TEST_P(EverySmallNet, hooks_come_in_layout_order_with_final_gradients) {
  NaiveDevice device;
  Net net(GetParam().build(), device, kBatch);
  TestBatch batch(net.graph, kBatch, kBatch);
  const std::vector<float> expected = net.step(batch);
  net.poison();
  net.load(batch);
  std::vector<ParamId> needed, ready;
  net.program->forward(Net::scales(batch), [&](ParamId p) { needed.push_back(p); });
  std::size_t unfinished = 0;
  net.program->backward(Net::scales(batch), [&](ParamId p) {
    const FlatLayout::Entry& entry = net.layout.entry(p);
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      EXPECT_EQ(net.grads()[i], expected[i]);
    ready.push_back(p);
    const FlatLayout::Entry& last = net.layout.entries.back();
    if (net.grads()[last.offset] != expected[last.offset]) ++unfinished;
  });
  ASSERT_EQ(ready.size(), net.layout.entries.size());
  for (std::size_t i = 0; i < ready.size(); ++i) EXPECT_EQ(ready[i], net.layout.entries[i].parameter);
  EXPECT_GT(unfinished, 0U) << "gradients are announced while backward goes on";
  std::vector<ParamId> every(net.graph.parameters().size());
  for (std::size_t p = 0; p < every.size(); ++p) every[p] = static_cast<ParamId>(p);
  EXPECT_EQ(needed, every) << "parameters are needed in order of definition in these nets, each once";
}

TEST_P(EverySmallNet, micro_batches_add_up) {
  NaiveDevice device({.fusions = kAllFusions});
  Net net(GetParam().build(), device, kBatch);
  TestBatch first(net.graph, kBatch, kBatch, 1), second(net.graph, kBatch, kBatch, 2);
  StepScales scales{.global_samples = 2 * kBatch, .last_micro_batch = false};
  const auto run = [&](TestBatch& batch, bool accumulate) {
    scales.accumulate = accumulate;
    net.load(batch);
    net.program->forward(scales, {});
    net.program->backward(scales, [](ParamId) { FAIL() << "ready before the last micro-batch"; });
    return net.gradient_copy();
  };
  const std::vector<float> a = run(first, false), b = run(second, false);
  run(first, false);
  const std::vector<float> both = run(second, true);
  for (std::size_t i = 0; i < both.size(); ++i)
    EXPECT_NEAR(both[i], a[i] + b[i], 1e-6 + 1e-5 * std::abs(both[i])) << i;
}

TEST_P(EverySmallNet, eval_program_needs_less_memory_and_no_gradients) {
  NaiveDevice device({.fusions = kAllFusions});
  const Graph graph = GetParam().build();
  const ProgramPlan train(graph, device, kBatch, Mode::train), eval(graph, device, kBatch, Mode::eval);
  EXPECT_LT(eval.arena_bytes(), train.arena_bytes());
}

INSTANTIATE_TEST_SUITE_P(graphs, EverySmallNet, ::testing::ValuesIn(small_nets()),
                         [](const auto& net) { return net.param.name; });

}  // namespace
}  // namespace trireme::testing
