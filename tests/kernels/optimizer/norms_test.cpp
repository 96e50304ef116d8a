// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/optimizer.h"
#include "models/models.h"
#include "src/optim/optimizer.h"
#include "tests/kernels/optimizer/flat_net.h"
#include "tests/support/small_net.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;
using test::DeviceSegments;

struct Norms {
  std::vector<double> per_segment;
  double total;
};

Norms norms_of(const std::vector<Segment>& segments, const std::vector<float>& values) {
  const DeviceSegments tables(segments);
  const DeviceArray<float> device(values);
  DeviceArray<double> per_segment(segments.size()), total(1);
  DeviceArray<unsigned char> workspace(squared_norms_workspace_bytes(tables.host));
  squared_norms(tables.table(), device.data(), per_segment.data(), total.data(), workspace.data(), nullptr);
  return {per_segment.to_host(), total.to_host()[0]};
}

/// Between a sum of `count` float64 numbers in a tree and the reference's, one after the other, whose error
/// grows by at most half a unit in the last place with each.
double tolerance(std::int64_t count) {
  return 1e-14 + static_cast<double>(count) * 0x1p-54;
}

void expect_reference(const std::vector<Segment>& segments, std::size_t elements) {
  const auto values = test::normal_in(segments, elements, 4);
  const Norms norms = norms_of(segments, values);
  double total = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const double expected =
        segments[s].rule == SegmentRule::statistic || segments[s].count == 0
            ? 0
            : reference::squared_norm(&values[static_cast<std::size_t>(segments[s].begin)],
                                      segments[s].count);
    EXPECT_NEAR(norms.per_segment[s], expected, tolerance(segments[s].count) * expected) << "segment " << s;
    total += expected;
  }
  EXPECT_NEAR(norms.total, total, tolerance(static_cast<std::int64_t>(elements)) * total);
}

TEST(SquaredNorms, EqualTheReferenceOnOddSegments) {
  expect_reference({{0, 1}, {4, 3}, {64, 0}, {64, 4095}, {8192, 4097}, {16384, 9}}, 16400);
  expect_reference({{64, 5, SegmentRule::exempt}, {128, 5, SegmentRule::statistic}}, 192);
  std::vector<Segment> many;
  for (int s = 0; s < 300; ++s) many.push_back({64 * s, s % 65, static_cast<SegmentRule>(s % 3)});
  expect_reference(many, 64 * 300);
}

TEST(SquaredNorms, SegmentsOfManyTiles) {
  expect_reference({{0, 37 * kSegmentTile + 1}}, 38 * kSegmentTile);
}

TEST(SquaredNorms, EqualTheHostsForANet) {
  const Graph graph = testing_support::small_net();
  const FlatLayout layout(graph);
  const auto segments = test::segments_of(graph, layout, true);
  const auto gradients = test::normal_in(segments, layout.elements, 7);
  const double expected = squared_norm(graph, layout, gradients.data());
  EXPECT_NEAR(norms_of(segments, gradients).total, expected, 1e-14 * expected);
}

TEST(SquaredNorms, NeitherOverflowNorLoseSmallNumbers) {
  std::vector<float> values(64, 1e-30F);
  values[0] = 3e38F;
  const double large = static_cast<double>(values[0]) * static_cast<double>(values[0]);
  EXPECT_DOUBLE_EQ(norms_of({{0, 64}}, values).total, large);
  values[0] = 0;
  EXPECT_NEAR(norms_of({{0, 64}}, values).total, 63e-60, 1e-66);
  values[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(norms_of({{0, 64}}, values).total, std::numeric_limits<double>::infinity());
}

UpdateFactors prepared(const StepValues& step, double squared, double clip, std::int32_t flag) {
  const DeviceArray<StepValues> device_step(std::vector{step});
  const DeviceArray<double> norm(std::vector{squared});
  const DeviceArray<std::int32_t> not_finite(std::vector{flag});
  DeviceArray<UpdateFactors> factors(1);
  prepare_update(
      {device_step.data(), clip > 0 ? norm.data() : nullptr, flag < 0 ? nullptr : not_finite.data(), clip},
      factors.data(), nullptr);
  return factors.to_host()[0];
}

TEST(PrepareUpdate, ClipsAsTheHostDoes) {
  const double squared = 7.25;
  EXPECT_EQ(prepared({}, squared, 1.5, -1).gradient,
            static_cast<float>(std::min(1.0, 1.5 / (std::sqrt(squared) + 1e-6))));
  EXPECT_EQ(prepared({}, squared, 3, -1).gradient, 1);
  EXPECT_EQ(prepared({}, squared, 0, -1).gradient, 1);
  const double unscaled = std::sqrt(squared) / 16;
  EXPECT_EQ(prepared({.inverse_loss_scale = 0.0625F}, squared, 0.1, -1).gradient,
            static_cast<float>(0.0625 * (0.1 / (unscaled + 1e-6))));
  EXPECT_EQ(prepared({.inverse_loss_scale = 0.0625F}, squared, 0, -1).gradient, 0.0625F);
  EXPECT_EQ(prepared({}, std::numeric_limits<double>::infinity(), 1, -1).gradient, 0);
}

TEST(PrepareUpdate, SkipsWhereTheFlagIsSet) {
  EXPECT_EQ(prepared({.learning_rate = 0.25F}, 1, 0, 0).skip, 0);
  EXPECT_EQ(prepared({.learning_rate = 0.25F}, 1, 0, 1).skip, 1);
  EXPECT_EQ(prepared({.learning_rate = 0.25F}, 1, 0, -1).skip, 0);
  EXPECT_EQ(prepared({.learning_rate = 0.25F}, 1, 0, 0).learning_rate, 0.25F);
}

std::int32_t flag_of(const DeviceArray<float>& values, std::int64_t begin, std::int64_t count,
                     std::int32_t before = 0) {
  DeviceArray<std::int32_t> flag(std::vector{before});
  check_finite(values.data() + begin, count, flag.data(), nullptr);
  return flag.to_host()[0];
}

TEST(CheckFinite, SeesEveryElementOfTheRangeAndNoOther) {
  constexpr float kLargest = std::numeric_limits<float>::max(),
                  kInfinity = std::numeric_limits<float>::infinity();
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  for (std::int64_t at = 0; at < 14; ++at) {
    std::vector<float> values(14, kLargest);
    values[static_cast<std::size_t>(at)] = bad[at % 3];
    const DeviceArray<float> device(values);
    for (std::int64_t begin = 0; begin < 4; ++begin)
      for (const std::int64_t count : {0, 3, 9})
        EXPECT_EQ(flag_of(device, begin, count), at >= begin && at < begin + count ? 1 : 0)
            << begin << " +" << count << ", bad " << at;
  }
}

TEST(CheckFinite, ReachesAllBlocksAndLeavesASetFlagAlone) {
  std::vector<float> values(50'001, 1.0F);
  EXPECT_EQ(flag_of(DeviceArray<float>(values), 0, 50'001), 0);
  EXPECT_EQ(flag_of(DeviceArray<float>(values), 0, 50'001, 1), 1);
  values.back() = std::numeric_limits<float>::infinity();
  EXPECT_EQ(flag_of(DeviceArray<float>(values), 1, 50'000), 1);
}

TEST(LayersSquaredNorms, MillionsOfResnet50) {
  const Graph graph = build_model("resnet50", {.image = {224, 224, 3}, .num_classes = 1000});
  const FlatLayout layout(graph);
  expect_reference(test::segments_of(graph, layout, false, 4'000'000), 4'000'000);
}

}  // namespace
}  // namespace trireme::kernels
