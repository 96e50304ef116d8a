// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/optimizer/norms.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/reference/optimizer.h"
#include "tests/kernels/optimizer/flat_net.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;
using test::DeviceSegments;

const std::vector<Segment> kSegments = {{0, 4099, SegmentRule::decayed},
                                        {4160, 9, SegmentRule::exempt},
                                        {4224, 7, SegmentRule::statistic},
                                        {4288, 0, SegmentRule::decayed},
                                        {4288, 1, SegmentRule::decayed}};
constexpr std::size_t kElements = 4352;

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// NaN, as in gaps, equals NaN. fp32 arithmetic of a few operations against float64.
void expect_near(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(actual[i])) << "element " << i;
    else
      ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

/// The moving average of a statistic, in float64.
void average(const Segment& segment, std::vector<double>& p, const std::vector<double>& g) {
  for (auto i = static_cast<std::size_t>(segment.begin);
       i < static_cast<std::size_t>(segment.begin + segment.count); ++i)
    p[i] = 0.9 * p[i] + 0.1 * g[i];
}

TEST(AdamWKernel, FollowsTheFormula) {
  const DeviceSegments tables(kSegments);
  const auto start = test::normal_in(kSegments, kElements, 1);
  DeviceArray<float> p(start), m(std::vector<float>(kElements, 0.0F)), v(std::vector<float>(kElements, 0.0F));
  std::vector<double> p64 = widened(start), m64(kElements, 0.0), v64(kElements, 0.0);
  DeviceArray<UpdateFactors> factors(1);
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto gradients = test::normal_in(kSegments, kElements, 2 + static_cast<std::uint64_t>(step));
    const auto g64 = widened(gradients);
    const DeviceArray<float> g(gradients);
    const DeviceArray<StepValues> values(
        std::vector{StepValues{.step = step, .learning_rate = 0.01F, .inverse_loss_scale = 0.5F}});
    prepare_update({.step = values.data(), .beta1 = 0.9, .beta2 = 0.999}, factors.data(), nullptr);
    adamw_step(tables.table(), make_range(tables.host, 0, kElements),
               {p.data(), g.data(), m.data(), v.data(), nullptr, factors.data()}, {.weight_decay = 0.1F},
               nullptr);
    for (const Segment& s : kSegments) {
      if (s.rule == SegmentRule::statistic) {
        average(s, p64, g64);
        continue;
      }
      const double decay = s.rule == SegmentRule::decayed ? 0.1 : 0;
      reference::adamw_step(&p64[static_cast<std::size_t>(s.begin)], &g64[static_cast<std::size_t>(s.begin)],
                            &m64[static_cast<std::size_t>(s.begin)], &v64[static_cast<std::size_t>(s.begin)],
                            s.count, {0.01, 0.9, 0.999, 1e-8, decay, 0.5, step + 1});
    }
    cudaDeviceSynchronize();
  }
  expect_near(p.to_host(), p64, 1e-6);
  expect_near(m.to_host(), m64, 1e-6);
  expect_near(v.to_host(), v64, 1e-6);
}

TEST(AdamWKernel, RefusesRatios) {
  const UpdateBuffers buffers{.ratios = reinterpret_cast<const float*>(16)};
  EXPECT_THROW(adamw_step({}, {}, buffers, {}, nullptr), std::invalid_argument);
}

TEST(LarsKernel, RatiosAndStepFollowTheFormula) {
  const DeviceSegments tables(kSegments);
  const auto start = test::normal_in(kSegments, kElements, 1),
             gradients = test::normal_in(kSegments, kElements, 2);
  DeviceArray<float> p(start), velocity(std::vector<float>(kElements, 0.25F)), ratios(kSegments.size());
  const DeviceArray<float> g(gradients);
  DeviceArray<double> p_norms(kSegments.size()), g_norms(kSegments.size());
  DeviceArray<unsigned char> workspace(squared_norms_workspace_bytes(tables.host));
  const DeviceArray<UpdateFactors> factors(std::vector{UpdateFactors{0.1F, 0.5F, 1, 1, 0}});
  squared_norms(tables.table(), p.data(), p_norms.data(), nullptr, workspace.data(), nullptr);
  squared_norms(tables.table(), g.data(), g_norms.data(), nullptr, workspace.data(), nullptr);
  lars_ratios(tables.table(), p_norms.data(), g_norms.data(), factors.data(),
              {.trust = 0.02, .weight_decay = 0.01, .epsilon = 1e-6}, ratios.data(), nullptr);
  sgd_step(tables.table(), make_range(tables.host, 0, kElements),
           {p.data(), g.data(), velocity.data(), nullptr, ratios.data(), factors.data()},
           {.weight_decay = 0.01F}, nullptr);

  std::vector<double> p64 = widened(start), v64(kElements, 0.25);
  const auto g64 = widened(gradients);
  const auto actual_ratios = ratios.to_host();
  for (std::size_t s = 0; s < kSegments.size(); ++s) {
    const Segment& segment = kSegments[s];
    const auto begin = static_cast<std::size_t>(segment.begin);
    double ratio = 1;
    const bool decays = segment.rule == SegmentRule::decayed;
    if (decays)
      ratio = reference::lars_ratio(std::sqrt(reference::squared_norm(&p64[begin], segment.count)),
                                    0.5 * std::sqrt(reference::squared_norm(&g64[begin], segment.count)),
                                    0.02, 0.01, 1e-6);
    EXPECT_NEAR(actual_ratios[s], ratio, 1e-7 * ratio) << "segment " << s;
    if (segment.rule == SegmentRule::statistic)
      average(segment, p64, g64);
    else
      reference::sgd_step(&p64[begin], &g64[begin], &v64[begin], segment.count,
                          {0.1, 0.9, decays ? 0.01 : 0, false, 0.5, ratio});
  }
  expect_near(p.to_host(), p64, 1e-6);
  expect_near(velocity.to_host(), v64, 1e-6);
}

TEST(LarsKernel, SegmentsOfZeroKeepTheirRate) {
  const DeviceSegments tables({{0, 4}, {4, 4}});
  const DeviceArray<double> zeros_first(std::vector<double>{0, 4}), zeros_second(std::vector<double>{4, 0});
  const DeviceArray<UpdateFactors> factors(std::vector{UpdateFactors{1, 1, 1, 1, 0}});
  DeviceArray<float> ratios(2);
  lars_ratios(tables.table(), zeros_first.data(), zeros_second.data(), factors.data(), {}, ratios.data(),
              nullptr);
  EXPECT_EQ(ratios.to_host(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace trireme::kernels
