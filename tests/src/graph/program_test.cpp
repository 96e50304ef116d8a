// SPDX-License-Identifier: Apache-2.0
#include "src/graph/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/models.h"
#include "src/core/error.h"
#include "tests/src/graph/naive_device.h"
#include "tests/src/graph/net.h"
#include "tests/src/graph/small_nets.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kInit = Initializer::Kind::fan_in_uniform;

Graph linear_net() {
  Graph g;
  ValueId x = g.flatten("flat", g.input({2, 2, 1}));
  x = g.relu("relu", g.linear("hidden", x, {.out_features = 5}, kInit));
  g.softmax_cross_entropy("loss", g.linear("fc", x, {.out_features = 4}, kInit));
  return g;
}

TEST(program, an_empty_share_writes_zeros_and_calls_every_hook) {
  NaiveDevice device;
  Net net(linear_net(), device, 3);
  TestBatch empty(net.graph, 3, 0);
  net.poison();
  net.load(empty);
  int needed = 0, ready = 0;
  net.program->forward({.global_samples = 6}, [&](ParamId) { ++needed; });
  net.program->backward({.global_samples = 6}, [&](ParamId) { ++ready; });
  EXPECT_EQ(needed, 4);
  EXPECT_EQ(ready, 4);
  EXPECT_EQ(net.gradient_copy(), std::vector<float>(net.layout.elements, 0.0F));
  EXPECT_EQ(net.program->read_record().samples, 0);
}

TEST(program, an_empty_share_leaves_accumulated_gradients_alone) {
  NaiveDevice device;
  Net net(linear_net(), device, 3);
  TestBatch full(net.graph, 3, 3), empty(net.graph, 3, 0);
  const std::vector<float> expected = net.step(full);
  net.load(empty);
  net.program->forward({.global_samples = 3, .accumulate = true}, {});
  net.program->backward({.global_samples = 3, .accumulate = true}, {});
  EXPECT_EQ(net.gradient_copy(), expected);
}

TEST(program, padding_rows_count_for_nothing) {
  NaiveDevice device;
  Net net(linear_net(), device, 5), exact(linear_net(), device, 3);
  TestBatch padded(net.graph, 5, 3), whole(net.graph, 3, 3);
  std::copy(whole.images.begin(), whole.images.end(), padded.images.begin());
  EXPECT_EQ(net.step(padded), exact.step(whole));
  const StepRecord a = net.program->read_record(), b = exact.program->read_record();
  EXPECT_EQ(a.samples, 3);
  EXPECT_EQ(a.loss_fixed, b.loss_fixed);
  EXPECT_EQ(a.top1, b.top1);
}

TEST(program, uneven_shares_weigh_by_their_samples) {
  NaiveDevice device;
  Net whole(linear_net(), device, 5), two(linear_net(), device, 2), three(linear_net(), device, 3);
  TestBatch all(whole.graph, 5, 5), head(whole.graph, 2, 2), tail(whole.graph, 3, 3);
  std::copy_n(all.images.begin(), head.images.size(), head.images.begin());
  std::copy(all.images.begin() + static_cast<std::ptrdiff_t>(head.images.size()), all.images.end(),
            tail.images.begin());
  std::copy(all.labels.begin() + 2, all.labels.end(), tail.labels.begin());
  const std::vector<float> expected = whole.step(all);
  const auto share = [](Net& net, TestBatch& batch) {
    net.load(batch);
    net.program->forward({.global_samples = 5}, {});
    net.program->backward({.global_samples = 5}, {});
    return net.gradient_copy();
  };
  const std::vector<float> a = share(two, head), b = share(three, tail);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(a[i] + b[i], expected[i], 1e-6);
}

TEST(program, the_next_batch_may_be_loaded_before_backward) {
  NaiveDevice device;
  Net net(linear_net(), device, 3);
  TestBatch first(net.graph, 3, 3, 1), second(net.graph, 3, 3, 2);
  const std::vector<float> expected_first = net.step(first), expected_second = net.step(second);
  net.load(first);
  net.program->forward(Net::scales(first), {});
  net.load(second);
  net.program->backward(Net::scales(first), {});
  EXPECT_EQ(net.gradient_copy(), expected_first);
  net.program->forward(Net::scales(second), {});
  net.program->backward(Net::scales(second), {});
  EXPECT_EQ(net.gradient_copy(), expected_second);
}

TEST(program, the_record_counts_until_it_is_zeroed) {
  NaiveDevice device;
  Net net(linear_net(), device, 4, Mode::eval);
  TestBatch batch(net.graph, 4, 4);
  const double loss = net.loss(batch);
  net.load(batch);
  net.program->forward(Net::scales(batch), {});
  const StepRecord record = net.program->read_record();
  EXPECT_EQ(record.samples, 8);
  EXPECT_EQ(record.top5, 8) << "there are four classes";
  EXPECT_NEAR(record.loss_sum, 8 * loss, 1e-6);
  net.program->zero_record();
  EXPECT_EQ(net.program->read_record().samples, 0);
}

TEST(program, logits_outlive_backward_and_agree_between_modes) {
  NaiveDevice device;
  Net train(linear_net(), device, 3), eval(linear_net(), device, 3, Mode::eval);
  TestBatch batch(train.graph, 3, 3);
  train.step(batch);
  eval.loss(batch);
  const std::vector<float> logits = train.program->read_logits();
  EXPECT_EQ(logits, eval.program->read_logits());
  // By hand: softmax cross entropy of these logits is the loss of the record.
  double loss = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += std::exp(logits[4 * n + k]);
    loss += std::log(sum) - logits[4 * n + static_cast<std::size_t>(batch.labels[n])];
  }
  EXPECT_NEAR(eval.program->read_record().loss_sum, loss, 1e-6);
}

TEST(program, dropout_depends_on_epoch_and_sample_only) {
  NaiveDevice device;
  Graph graph;
  ValueId x = graph.dropout("drop", graph.flatten("flat", graph.input({2, 2, 1})), 0.5);
  graph.softmax_cross_entropy("loss", graph.linear("fc", x, {.out_features = 4}, kInit));
  Net net(graph, device, 3);
  TestBatch batch(net.graph, 3, 3);
  std::copy_n(batch.images.begin(), 4, batch.images.begin() + 4);  // rows 0 and 1 are one picture
  const auto logits = [&](std::uint32_t epoch) {
    net.load(batch);
    net.program->forward({.global_samples = 3, .epoch = epoch}, {});
    return net.program->read_logits();
  };
  const auto row = [](const std::vector<float>& all, std::ptrdiff_t n) {
    return std::vector<float>(all.begin() + 4 * n, all.begin() + 4 * n + 4);
  };
  const auto first = logits(0);
  EXPECT_NE(logits(1), first);
  EXPECT_EQ(logits(0), first);
  batch.sample_ids[1] = batch.sample_ids[0];
  const auto twins = logits(0);
  EXPECT_EQ(row(twins, 1), row(twins, 0));
  EXPECT_EQ(row(twins, 2), row(first, 2));
}

TEST(program, find_non_finite_names_the_first_node) {
  NaiveDevice device;
  Net net(linear_net(), device, 3);
  TestBatch batch(net.graph, 3, 3);
  net.step(batch);
  const StepRecord before = net.program->read_record();
  EXPECT_EQ(net.program->find_non_finite(Net::scales(batch)), std::nullopt);
  EXPECT_EQ(net.program->read_record().samples, before.samples) << "diagnosis leaves no trace";
  net.weights()[net.layout.entry(0).offset + 3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(net.program->find_non_finite(Net::scales(batch)), "the output of hidden (linear)");
}

TEST(program, find_non_finite_names_parameters_and_gradients) {
  NaiveDevice device;
  Net net(linear_net(), device, 3);
  TestBatch batch(net.graph, 3, 3);
  net.step(batch);
  net.grads()[net.layout.entry(3).offset] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(net.program->find_non_finite(Net::scales(batch)), "the gradient of fc.bias");
}

TEST(program, batch_norm_of_one_value_per_channel_is_refused) {
  Graph g;
  ValueId x = g.adaptive_avg_pool("pool", g.input({4, 4, 2}), {1, 1});
  x = g.flatten("flat", g.batch_norm("norm", x));
  g.softmax_cross_entropy("loss", g.linear("fc", x, {.out_features = 2}, kInit));
  NaiveDevice device;
  try {
    const ProgramPlan plan(g, device, 1, Mode::train);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr("'norm'"));
  }
  EXPECT_NO_THROW(ProgramPlan(g, device, 2, Mode::train));
  EXPECT_NO_THROW(ProgramPlan(g, device, 1, Mode::eval));
}

TEST(program, memory_report_lists_every_node_and_the_arena) {
  NaiveDevice device;
  const Graph graph = build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
  const ProgramPlan plan(graph, device, 4, Mode::train);
  const std::string report = plan.memory_report();
  for (const Node& node : graph.nodes()) EXPECT_THAT(report, HasSubstr("\n" + node.name + " "));
  EXPECT_THAT(report, HasSubstr(std::to_string(plan.arena_bytes()) + " bytes"));
  EXPECT_THAT(report, HasSubstr("without reuse"));
  EXPECT_THAT(report, HasSubstr("in place"));
}

}  // namespace
}  // namespace trireme::testing
