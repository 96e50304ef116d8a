// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "models/models.h"
#include "src/core/error.h"
#include "src/core/philox.h"
#include "src/optim/blocks.h"
#include "src/optim/optimizer.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

using testing_support::small_net;

/// Flat buffers of a graph: parameters and gradients are normal numbers, with rubbish in the gradients' gaps.
struct Buffers {
  Buffers(const Graph& graph, const FlatLayout& layout)
      : parameters(layout.elements), gradients(layout.elements) {
    for (float& gradient : gradients) gradient = std::numeric_limits<float>::quiet_NaN();
    for (const FlatLayout::Entry& entry : layout.entries) {
      const auto id = static_cast<std::uint64_t>(entry.parameter), count = entry.count;
      fill_normal(Philox(1, 90, 0, id), 1.0F, &parameters[entry.offset], static_cast<std::int64_t>(count));
      fill_normal(Philox(2, 90, 0, id), 1.0F, &gradients[entry.offset], static_cast<std::int64_t>(count));
      if (graph.parameter(entry.parameter).role == ParamRole::running_var)
        for (std::size_t i = 0; i < count; ++i)
          gradients[entry.offset + i] = std::abs(gradients[entry.offset + i]);
    }
  }
  std::vector<float> parameters, gradients;
};

/// The rules written out for one element, in float64.
struct Naive {
  double parameter, velocity = 0;

  void step(const Parameter& about, double gradient, const OptimizerOptions& options, double rate,
            double factor) {
    if (about.is_statistic()) {
      parameter = (1 - options.norm_momentum) * parameter + options.norm_momentum * gradient;
      return;
    }
    const bool exempt = !options.decay_norm_and_bias &&
                        (about.role == ParamRole::bias || about.role == ParamRole::norm_weight ||
                         about.role == ParamRole::norm_bias);
    const double direction = factor * gradient + (exempt ? 0 : options.weight_decay) * parameter;
    velocity = options.momentum * velocity + direction;
    parameter -= rate * (options.nesterov ? direction + options.momentum * velocity : velocity);
  }
};

void check_against_naive(const OptimizerOptions& options) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  Buffers buffers(graph, layout);
  std::vector<Naive> naive;
  for (const float parameter : buffers.parameters) naive.push_back({parameter});
  HostMemory memory;
  const auto sgd = make_sgd(graph, layout, options, memory);
  const double rates[] = {0.1, 0.05, 0.2}, factors[] = {1, 0.25, 0.5};
  for (int step = 0; step < 3; ++step) {
    sgd->step({0, layout.elements}, buffers.parameters.data(), buffers.gradients.data(), rates[step],
              factors[step]);
    for (const FlatLayout::Entry& entry : layout.entries)
      for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
        naive[i].step(graph.parameter(entry.parameter), buffers.gradients[i], options, rates[step],
                      factors[step]);
  }
  const OptimizerState state = sgd->state().at(0);
  EXPECT_EQ(state.name, "momentum");
  for (std::size_t i = 0; i < layout.elements; ++i) {
    ASSERT_NEAR(buffers.parameters[i], naive[i].parameter, 1e-5) << "element " << i;
    ASSERT_NEAR(state.values[i], naive[i].velocity, 1e-5) << "element " << i;
  }
}

TEST(Sgd, FollowsTheRulesOfEveryRole) {
  check_against_naive({});
}
TEST(Sgd, FollowsTheRulesWithNesterov) {
  check_against_naive({.nesterov = true});
}
TEST(Sgd, ExemptsNormAndBiasFromDecay) {
  check_against_naive({.weight_decay = 0.1, .decay_norm_and_bias = false});
  check_against_naive({.weight_decay = 0.1, .decay_norm_and_bias = true});
}
TEST(Sgd, FollowsTheRulesWithoutMomentum) {
  check_against_naive({.momentum = 0, .norm_momentum = 0.25});
}

TEST(Sgd, GapsStayZeroWhateverTheGradientHoldsThere) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  Buffers buffers(graph, layout);
  HostMemory memory;
  const auto sgd = make_sgd(graph, layout, {}, memory);
  sgd->step({0, layout.elements}, buffers.parameters.data(), buffers.gradients.data(), 0.1, 1);
  std::vector<bool> in_gap(layout.elements, true);
  for (const FlatLayout::Entry& entry : layout.entries)
    for (std::size_t i = 0; i < entry.count; ++i) in_gap[entry.offset + i] = false;
  int gaps = 0;
  for (std::size_t i = 0; i < layout.elements; ++i)
    if (in_gap[i]) {
      ++gaps;
      EXPECT_EQ(buffers.parameters[i], 0);
      EXPECT_EQ(sgd->state()[0].values[i], 0);
    }
  EXPECT_GT(gaps, 0);
}

// import torch
// p = torch.nn.Parameter(torch.tensor([0.5, -1.25, 2.0, 0.03125])); o = torch.optim.SGD([p], **kw)
// for g in [[0.1, -0.2, 0.3, 4.0], [-0.5, 0.25, 0.125, -1.0], [0.01, 0.02, -0.03, 0.5]]:
//     p.grad = torch.tensor(g); o.step()
// print(kw, [f'{v:.9g}' for v in p.tolist()])
struct TorchCase {
  OptimizerOptions options;
  double rate;
  float expected[4];
};

TEST(Sgd, GivesTheNumbersOfPyTorch) {
  const TorchCase cases[] = {
      {{.momentum = 0.9, .weight_decay = 5e-4},
       0.1,
       {0.566759169F, -1.24495208F, 1.89739537F, -0.912687778F}},
      {{.momentum = 0.9, .nesterov = true, .weight_decay = 5e-4},
       0.1,
       {0.599004924F, -1.25227284F, 1.86786783F, -1.16817462F}},
      {{.momentum = 0.9, .weight_decay = 0}, 0.1, {0.566900015F, -1.24529994F, 1.89795005F, -0.912750006F}},
      {{.momentum = 0, .weight_decay = 0.1}, 0.05, {0.511962354F, -1.23488081F, 1.95058072F, -0.142471418F}},
  };
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  const float gradients_of_steps[3][4] = {
      {0.1F, -0.2F, 0.3F, 4.0F}, {-0.5F, 0.25F, 0.125F, -1.0F}, {0.01F, 0.02F, -0.03F, 0.5F}};
  const FlatLayout::Entry& weight = layout.entry(0);  // conv1.weight
  for (const TorchCase& torch : cases) {
    HostMemory memory;
    const auto sgd = make_sgd(graph, layout, torch.options, memory);
    std::vector<float> parameters(layout.elements), gradients(layout.elements);
    const float first[] = {0.5F, -1.25F, 2.0F, 0.03125F};
    std::copy(std::begin(first), std::end(first), &parameters[weight.offset]);
    for (const auto& gradient : gradients_of_steps) {
      std::copy(std::begin(gradient), std::end(gradient), &gradients[weight.offset]);
      sgd->step({0, layout.elements}, parameters.data(), gradients.data(), torch.rate, 1);
    }
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(parameters[weight.offset + i], torch.expected[i], 2.5e-7 * std::abs(torch.expected[i]));
  }
}

// import torch
// bn = torch.nn.BatchNorm2d(1, momentum=0.1); x = torch.arange(8.).reshape(2, 1, 2, 2); bn(x); bn(2 * x + 1)
// print(bn.running_mean, bn.running_var)   # batch statistics: means 3.5 and 8, unbiased variances 6 and 24
TEST(Sgd, MovesStatisticsAsPyTorchsBatchNorm) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  std::vector<float> parameters(layout.elements), gradients(layout.elements);
  std::size_t mean = 0, variance = 0;
  for (const FlatLayout::Entry& entry : layout.entries) {
    if (graph.parameter(entry.parameter).role == ParamRole::running_mean) mean = entry.offset;
    if (graph.parameter(entry.parameter).role == ParamRole::running_var) variance = entry.offset;
  }
  parameters[variance] = 1;
  HostMemory memory;
  const auto sgd = make_sgd(graph, layout, {}, memory);
  const float batches[2][2] = {{3.5F, 6.0F}, {8.0F, 24.0F}};
  for (const auto& batch : batches) {
    gradients[mean] = batch[0];
    gradients[variance] = batch[1];
    // Neither the rate nor the clipping factor touches them.
    sgd->step({0, layout.elements}, parameters.data(), gradients.data(), 123, 0.01);
  }
  EXPECT_NEAR(parameters[mean], 1.1150F, 1e-6);
  EXPECT_NEAR(parameters[variance], 3.7500F, 1e-6);
}

TEST(Sgd, AnyCuttingIntoRangesGivesTheSameBits) {
  // Long enough for several blocks and threads.
  const Graph graph = build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
  const FlatLayout layout(graph);
  const OptimizerOptions options{.nesterov = true, .decay_norm_and_bias = false};
  const Buffers start(graph, layout);
  std::vector<float> whole = start.parameters, cut = start.parameters;
  HostMemory memory;
  const auto one = make_sgd(graph, layout, options, memory), other = make_sgd(graph, layout, options, memory);
  Philox random(7, 91, 0, 0);
  for (int step = 0; step < 3; ++step) {
    one->step({0, layout.elements}, whole.data(), start.gradients.data(), 0.1, 0.7);
    for (std::size_t begin = 0; begin < layout.elements;) {
      const std::size_t end =
          std::min<std::size_t>(begin + random.next_below(step == 0 ? 300 : 90000), layout.elements);
      other->step({begin, end}, cut.data(), start.gradients.data(), 0.1, 0.7);
      begin = end;
    }
    ASSERT_EQ(whole, cut);
    const float* momentum = one->state()[0].values;
    ASSERT_TRUE(std::equal(momentum, momentum + layout.elements, other->state()[0].values));
  }
  EXPECT_NE(whole, start.parameters);
}

TEST(Sgd, RefusesARangeBeyondTheBuffer) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  Buffers buffers(graph, layout);
  HostMemory memory;
  const auto sgd = make_sgd(graph, layout, {}, memory);
  EXPECT_THROW(
      sgd->step({0, layout.elements + 1}, buffers.parameters.data(), buffers.gradients.data(), 0.1, 1),
      Error);
}

TEST(SquaredNorm, SumsTrainableParametersOnly) {
  const Graph graph = build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
  const FlatLayout layout(graph);
  const Buffers buffers(graph, layout);  // NaN in the gaps
  long double expected = 0;
  for (const FlatLayout::Entry& entry : layout.entries)
    if (!graph.parameter(entry.parameter).is_statistic())
      for (std::size_t i = 0; i < entry.count; ++i)
        expected += std::pow(static_cast<long double>(buffers.gradients[entry.offset + i]), 2);
  const double norm = squared_norm(graph, layout, buffers.gradients.data());
  EXPECT_NEAR(norm, static_cast<double>(expected), 1e-9 * static_cast<double>(expected));
  EXPECT_EQ(norm, squared_norm(graph, layout, buffers.gradients.data()));
}

TEST(AllFinite, SeesEveryKindOfNonFiniteNumberAtEveryPlace) {
  using Limits = std::numeric_limits<float>;
  const std::size_t count = 2 * kBlockElements + 37;
  std::vector<float> values(count, Limits::max());
  values[1] = -Limits::max();
  values[2] = Limits::denorm_min();
  values[3] = -0.0F;
  EXPECT_TRUE(all_finite(values.data(), count));
  EXPECT_TRUE(all_finite(values.data(), 0));
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()})
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{5}, kBlockElements - 1, kBlockElements, count - 1}) {
      const float kept = values[at];
      values[at] = bad;
      EXPECT_FALSE(all_finite(values.data(), count)) << bad << " at " << at;
      EXPECT_TRUE(all_finite(values.data(), at)) << "not in the range";
      values[at] = kept;
    }
}

}  // namespace
}  // namespace trireme
