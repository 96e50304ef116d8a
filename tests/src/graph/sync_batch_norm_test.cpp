// SPDX-License-Identifier: Apache-2.0
// Programs of several ranks whose batch norms are synchronised, against one program with the whole batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/graph/net.h"
#include "tests/src/graph/small_nets.h"
#include "tests/src/graph/thread_group.h"

namespace trireme::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::int64_t>;

std::int64_t total(const Rows& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

Graph synchronized(const SmallNet& net) {
  Graph graph = net.build();
  graph.synchronize_batch_norm();
  return graph;
}

SmallNet small_net(std::string_view name) {
  for (const SmallNet& net : small_nets())
    if (net.name == name) return net;
  throw std::out_of_range("no such net");
}

/// Samples [first, first + valid) of `whole`, in a batch of `rows`.
TestBatch share_of(const Graph& graph, const TestBatch& whole, std::int64_t first, std::int64_t valid,
                   std::int64_t rows) {
  TestBatch share(graph, rows, valid);
  const std::int64_t pixels = graph.image_shape().count();
  std::copy_n(whole.images.begin() + first * pixels, valid * pixels, share.images.begin());
  std::copy_n(whole.labels.begin() + first, valid, share.labels.begin());
  std::copy_n(whole.sample_ids.begin() + first, valid, share.sample_ids.begin());
  return share;
}

const FlatLayout::Entry& entry_of(const Graph& graph, const FlatLayout& layout, std::string_view name) {
  for (const FlatLayout::Entry& entry : layout.entries)
    if (graph.parameter(entry.parameter).name == name) return entry;
  throw std::out_of_range("no such parameter");
}

struct Outcome {
  std::vector<float> gradients;  ///< of all ranks, added
  double loss_sum = 0;
};

/// A step in micro-batches, micro_batches[m][r] samples of rank r each, one after the other in the data; the
/// ranks' parameters are those that `change` makes of the initial ones.
Outcome step_on_ranks(const Graph& graph, const std::vector<Rows>& micro_batches,
                      const std::function<void(Net&)>& change = {}, ThreadGroup* other_group = nullptr) {
  const std::size_t ranks = micro_batches[0].size();
  ThreadGroup own_group(ranks);
  ThreadGroup& group = other_group == nullptr ? own_group : *other_group;
  std::int64_t samples = 0;
  for (const Rows& rows : micro_batches) samples += total(rows);
  const TestBatch whole(graph, samples, samples);
  std::vector<Outcome> outcomes(ranks);
  group.run([&](std::size_t rank, GroupSum& sum) {
    const auto device = make_cpu_device({1});
    const std::int64_t rows = std::max<std::int64_t>(1, micro_batches[0][rank]);
    Net net(graph, *device, rows, Mode::train, &sum);
    if (change) change(net);
    net.poison();
    net.program->zero_record();
    std::int64_t first = 0;
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      const Rows& shares = micro_batches[m];
      const std::int64_t before = std::accumulate(shares.begin(), shares.begin() + rank, first);
      TestBatch share = share_of(graph, whole, before, shares[rank], rows);
      const StepScales scales{
          .global_samples = samples, .accumulate = m > 0, .last_micro_batch = m + 1 == micro_batches.size()};
      net.load(share);
      net.program->forward(scales, {});
      net.program->backward(scales, {});
      first += total(shares);
    }
    outcomes[rank] = {net.gradient_copy(), net.program->read_record().loss_sum};
  });
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    outcomes[0].loss_sum += outcomes[rank].loss_sum;
    for (std::size_t i = 0; i < outcomes[0].gradients.size(); ++i)
      outcomes[0].gradients[i] += outcomes[rank].gradients[i];
  }
  return outcomes[0];
}

// Relative to the tensor's largest gradient; a bias before batch norm has none but rounding.
void expect_same_step(const Graph& graph, const Outcome& actual, const Outcome& expected) {
  EXPECT_NEAR(actual.loss_sum, expected.loss_sum, 1e-6 * expected.loss_sum);
  for (const FlatLayout::Entry& entry : FlatLayout(graph).entries) {
    double largest = 0, difference = 0;
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(expected.gradients[i])));
      difference = std::max(difference, std::abs(static_cast<double>(actual.gradients[i]) -
                                                 static_cast<double>(expected.gradients[i])));
    }
    EXPECT_LE(difference, 2e-5 * std::max(0.05, largest)) << graph.parameter(entry.parameter).name;
  }
}

class SynchronizedNet : public ::testing::TestWithParam<SmallNet> {};

TEST_P(SynchronizedNet, shares_give_the_step_of_the_whole_batch) {
  const Graph ordinary = GetParam().build(), graph = synchronized(GetParam());
  const Outcome expected = step_on_ranks(ordinary, {{5}});
  for (const Rows& rows : {Rows{5}, Rows{2, 3}, Rows{1, 0, 4}, Rows{0, 5}, Rows{1, 1, 1, 1, 1}}) {
    SCOPED_TRACE(std::to_string(rows.size()) + " ranks, rank 0 with " + std::to_string(rows[0]));
    expect_same_step(graph, step_on_ranks(graph, {rows}), expected);
  }
}

TEST_P(SynchronizedNet, micro_batches_have_statistics_of_their_own) {
  const Graph graph = synchronized(GetParam());
  const Outcome expected = step_on_ranks(GetParam().build(), {{5}, {5}});
  expect_same_step(graph, step_on_ranks(graph, {{2, 3}, {2, 3}}), expected);
  const Outcome uneven = step_on_ranks(graph, {{2, 3, 0}, {0, 3, 0}});
  expect_same_step(graph, uneven, step_on_ranks(graph, {{2, 3}, {0, 3}}));
}

INSTANTIATE_TEST_SUITE_P(graphs, SynchronizedNet, ::testing::ValuesIn(small_nets()),
                         [](const auto& net) { return net.param.name; });

/// Without ReLU, so that differences see no kink.
Graph smooth_net() {
  constexpr auto kInit = Initializer::Kind::fan_in_uniform;
  const Conv2dOp conv{.out_channels = 3, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
  Graph graph;
  ValueId x = graph.batch_norm("bn1", graph.conv2d("conv1", graph.input({4, 5, 2}), conv, kInit));
  x = graph.add("add", x, graph.batch_norm("bn2", graph.conv2d("conv2", x, conv, kInit)));
  x = graph.flatten("flatten", graph.adaptive_avg_pool("pool", x, {2, 2}));
  graph.softmax_cross_entropy("loss", graph.linear("fc", x, {.out_features = 3}, kInit));
  graph.synchronize_batch_norm();
  return graph;
}

TEST(sync_batch_norm, gradients_agree_with_finite_differences) {
  const Graph graph = smooth_net();
  const FlatLayout layout(graph);
  const std::vector<Rows> shares = {{2, 1}};
  const Outcome outcome = step_on_ranks(graph, shares);
  constexpr double kStep = 5e-3;
  for (const std::string name : {"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight"}) {
    const FlatLayout::Entry& entry = entry_of(graph, layout, name);
    const std::size_t at = entry.offset + entry.count / 2;
    const auto loss_at = [&](double step) {
      const auto move = [&](Net& net) { net.weights()[at] += static_cast<float>(step); };
      return step_on_ranks(graph, shares, move).loss_sum / static_cast<double>(total(shares[0]));
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(static_cast<double>(outcome.gradients[at]), slope, 1e-4 + 1e-3 * std::abs(slope)) << name;
  }
}

TEST(sync_batch_norm, every_rank_takes_part_in_every_sum_by_name) {
  const Graph graph = synchronized(small_net("residual_block"));
  ThreadGroup group(3);
  step_on_ranks(graph, {{1, 0, 2}}, {}, &group);
  EXPECT_THAT(
      group.asked(),
      ElementsAre("batch norm statistics of bn1, forward", "batch norm statistics of bn2, forward",
                  "batch norm statistics of bn3, forward", "batch norm statistics of bn3, backward",
                  "batch norm statistics of bn2, backward", "batch norm statistics of bn1, backward"));
}

TEST(sync_batch_norm, a_search_for_what_is_not_finite_needs_no_other_rank) {
  const Graph graph = synchronized(small_net("chain"));
  const auto device = make_cpu_device({1});
  ThreadGroup group(2);
  std::vector<std::optional<std::string>> healthy(2), broken(2);
  group.run([&](std::size_t rank, GroupSum& sum) {
    Net net(graph, *device, 2, Mode::train, &sum);
    TestBatch batch(graph, 2, 2, rank);
    net.step(batch);
    healthy[rank] = net.program->find_non_finite(Net::scales(batch));
    if (rank == 1) {
      net.weights()[entry_of(graph, net.layout, "bn.weight").offset] = std::numeric_limits<float>::infinity();
      broken[rank] = net.program->find_non_finite(Net::scales(batch));
    }
  });
  EXPECT_EQ(group.asked().size(), 2U) << "one step's sums";
  EXPECT_EQ(healthy[0], std::nullopt);
  EXPECT_EQ(healthy[1], std::nullopt);
  EXPECT_EQ(broken[1], "the output of bn (batch_norm)");
}

TEST(sync_batch_norm, one_value_per_channel_is_a_matter_of_all_ranks) {
  Graph graph;
  ValueId x = graph.adaptive_avg_pool("pool", graph.input({4, 4, 2}), {1, 1});
  x = graph.flatten("flat", graph.batch_norm("norm", x));
  graph.softmax_cross_entropy("loss",
                              graph.linear("fc", x, {.out_features = 2}, Initializer::Kind::fan_in_uniform));
  graph.synchronize_batch_norm();
  EXPECT_NO_THROW(step_on_ranks(graph, {{1, 1}}));
  try {
    step_on_ranks(graph, {{1, 0}});
    FAIL() << "one value has no variance";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_THAT(error.what(), HasSubstr("one value per channel"));
  }
}

TEST(sync_batch_norm, the_memory_report_shows_the_sums) {
  const auto device = make_cpu_device({1});
  const Graph graph = synchronized(small_net("chain"));
  EXPECT_THAT(ProgramPlan(graph, *device, 2, Mode::train).memory_report(), HasSubstr("sums over all ranks"));
  EXPECT_THAT(ProgramPlan(graph, *device, 2, Mode::eval).memory_report(),
              ::testing::Not(HasSubstr("sums over all ranks")));
}

}  // namespace
}  // namespace trireme::testing
