// SPDX-License-Identifier: Apache-2.0
// The same bits as the host's optimizer.
#include <gtest/gtest.h>

#include "kernels/optimizer/optimizer.h"
#include "models/models.h"
#include "src/optim/optimizer.h"
#include "tests/kernels/optimizer/flat_net.h"
#include "tests/support/small_net.h"

namespace trireme::kernels {
namespace {

using test::bits_of;
using test::DeviceArray;
using test::DeviceSegments;
using Cuts = std::vector<std::int64_t>;

SgdOptions device_options(const OptimizerOptions& options) {
  return {static_cast<float>(options.momentum), options.nesterov, static_cast<float>(options.weight_decay),
          static_cast<float>(options.norm_momentum)};
}

/// Three steps on both, the device's range cut at `cuts` (ascending, from 0 to the end).
void expect_equal_bits(const Graph& graph, const OptimizerOptions& options, const Cuts& cuts) {
  const FlatLayout layout(graph);
  const auto elements = static_cast<std::size_t>(cuts.back());
  const auto segments = test::segments_of(graph, layout, options.decay_norm_and_bias, elements);
  const DeviceSegments tables(segments);
  auto parameters = test::normal_in(segments, elements, 1);
  HostMemory memory;
  const auto host = make_sgd(graph, layout, options, memory);
  DeviceArray<float> device_parameters(parameters), velocities(std::vector<float>(elements, 0.0F));
  const double rates[] = {0.1, 0.05, 0.3}, factors[] = {1, 0.37, 0.5};
  for (int step = 0; step < 3; ++step) {
    const auto gradients = test::normal_in(segments, elements, 2 + static_cast<std::uint64_t>(step));
    const DeviceArray<float> device_gradients(gradients);
    const DeviceArray<UpdateFactors> device_factors(std::vector{
        UpdateFactors{static_cast<float>(rates[step]), static_cast<float>(factors[step]), 1, 1, 0}});
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      sgd_step(tables.table(), make_range(tables.host, cuts[i], cuts[i + 1]),
               {device_parameters.data(), device_gradients.data(), velocities.data(), nullptr, nullptr,
                device_factors.data()},
               device_options(options), nullptr);
    host->step({0, elements}, parameters.data(), gradients.data(), rates[step], factors[step]);
    cudaDeviceSynchronize();
  }
  const float* const host_velocities = host->state().at(0).values;
  EXPECT_TRUE(bits_of(device_parameters.to_host()) == bits_of(parameters));
  EXPECT_TRUE(bits_of(velocities.to_host()) == bits_of({host_velocities, host_velocities + elements}));
}

Cuts whole(const Graph& graph) {
  return {0, static_cast<std::int64_t>(FlatLayout(graph).elements)};
}

TEST(SgdKernel, EqualsTheHost) {
  const Graph graph = testing_support::small_net();
  for (const bool nesterov : {false, true})
    for (const bool decay_all : {false, true}) {
      OptimizerOptions options;
      options.nesterov = nesterov;
      options.decay_norm_and_bias = decay_all;
      options.weight_decay = 0.01;
      expect_equal_bits(graph, options, whole(graph));
    }
}

TEST(SgdKernel, RangesMayCutSegmentsAnywhere) {
  const Graph graph = testing_support::small_net();
  Cuts cuts;
  const std::int64_t end = whole(graph).back();
  for (std::int64_t at = 0; at < end; at += 61) cuts.push_back(at);
  cuts.insert(cuts.begin() + 1, {1, 2, 2, 3, 7});
  cuts.push_back(end);
  expect_equal_bits(graph, {}, cuts);
}

TEST(SgdKernel, WorksOnSegmentsLargerThanATile) {
  const Graph graph = build_model("lenet", {.image = {16, 16, 1}, .num_classes = 10});
  const std::int64_t end = whole(graph).back();
  expect_equal_bits(graph, {}, {0, end / 3, end});
}

struct Small {
  const DeviceSegments tables{
      {{0, 5, SegmentRule::decayed}, {8, 0, SegmentRule::decayed}, {8, 4, SegmentRule::statistic}}};
  DeviceArray<float> parameters{std::vector<float>(12, 1.0F)};
  DeviceArray<float> gradients{std::vector<float>(12, 2.0F)};
  DeviceArray<float> first{std::vector<float>(12, 3.0F)}, second{std::vector<float>(12, 4.0F)};
};

TEST(SgdKernel, EmptyRangesAndSegmentsAreFine) {
  Small small;
  const DeviceArray<UpdateFactors> factors(std::vector{UpdateFactors{0.5F, 1, 1, 1, 0}});
  const UpdateBuffers buffers{
      small.parameters.data(), small.gradients.data(), small.first.data(), nullptr, nullptr, factors.data()};
  const SgdOptions options{.momentum = 0.5F, .weight_decay = 1, .norm_momentum = 0.25F};
  sgd_step(small.tables.table(), make_range(small.tables.host, 5, 8), buffers, options, nullptr);
  EXPECT_EQ(small.parameters.to_host(), std::vector<float>(12, 1.0F));
  sgd_step(small.tables.table(), make_range(small.tables.host, 0, 12), buffers, options, nullptr);
  // d = 2 + 1, v = 1.5 + 3, p = 1 - 0.5 v; statistics 0.75 + 0.5
  EXPECT_EQ(small.parameters.to_host(), (std::vector<float>{-1.25F, -1.25F, -1.25F, -1.25F, -1.25F, 1, 1, 1,
                                                            1.25F, 1.25F, 1.25F, 1.25F}));
}

TEST(SgdKernel, SkipsTheWholeUpdateWhereToldTo) {
  Small small;
  const DeviceArray<UpdateFactors> factors(std::vector{UpdateFactors{0.5F, 1, 1, 1, 1}});
  const UpdateBuffers buffers{
      small.parameters.data(), small.gradients.data(), small.first.data(), small.second.data(), nullptr,
      factors.data()};
  const SegmentRange range = make_range(small.tables.host, 0, 12);
  sgd_step(small.tables.table(), range, buffers, {}, nullptr);
  adamw_step(small.tables.table(), range, buffers, {}, nullptr);
  EXPECT_EQ(small.parameters.to_host(), std::vector<float>(12, 1.0F));
  EXPECT_EQ(small.first.to_host(), std::vector<float>(12, 3.0F));
  EXPECT_EQ(small.second.to_host(), std::vector<float>(12, 4.0F));
}

TEST(Segments, MustAscendAndBeAligned) {
  EXPECT_THROW(make_segments(std::vector<Segment>{{0, 5}, {4, 4}}), std::invalid_argument);
  EXPECT_THROW(make_segments(std::vector<Segment>{{2, 5}}), std::invalid_argument);
  EXPECT_THROW(make_segments(std::vector<Segment>{{8, 4}, {0, 4}}), std::invalid_argument);
}

TEST(LayersSgdKernel, MillionsOfResnet50) {
  const Graph graph = build_model("resnet50", {.image = {224, 224, 3}, .num_classes = 1000});
  OptimizerOptions options;
  options.decay_norm_and_bias = false;
  expect_equal_bits(graph, options, {0, 2'000'001, 3'000'000});
}

}  // namespace
}  // namespace trireme::kernels
