// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/pool2d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::central_differences;
using testing::expect_close;
using testing::random_values;

TEST(ReferenceMaxPool, GivesWhatPyTorchGivesAlsoForEqualValues) {
  const std::vector<double> x = {1, 5, 2, 0, 3, 5, -1, 4, 4, 4, 4, 0};
  const reference::PoolShape shape{1, 3, 4, 1, 2, 3, 1, 2, 1, 1};
  std::vector<double> y(8);
  std::vector<std::int64_t> places(8);
  reference::max_pool_forward(y.data(), places.data(), x.data(), shape);
  EXPECT_EQ(y, (std::vector<double>{5, 5, 5, 5, 5, 5, 4, 4}));
  EXPECT_EQ(places, (std::vector<std::int64_t>{1, 1, 1, 1, 5, 5, 8, 9}));
}

TEST(ReferenceMaxPool, KeepsTheFirstNaNOfAWindow) {
  const double nan = std::nan("");
  const std::vector<double> x = {3, nan, 5, nan, 1, 2};
  std::vector<double> y(4);
  std::vector<std::int64_t> places(4);
  reference::max_pool_forward(y.data(), places.data(), x.data(), {1, 1, 6, 1, 1, 3, 1, 1, 0, 0});
  EXPECT_EQ(places, (std::vector<std::int64_t>{1, 1, 3, 3}));
  for (const double value : y) EXPECT_TRUE(std::isnan(value));
}

TEST(ReferenceMaxPool, GradientMatchesFiniteDifferences) {
  const reference::PoolShape s{2, 5, 6, 3, 3, 2, 2, 1, 1, 0};
  auto x = random_values<double>(2 * 5 * 6 * 3, 1);
  const std::int64_t count = s.batch * s.out_h() * s.out_w() * s.channels;
  const auto dy = random_values<double>(count, 2);
  std::vector<double> y(dy.size()), dx(x.size());
  std::vector<std::int64_t> places(dy.size());
  const auto loss = [&] {
    std::vector<std::int64_t> ignored(dy.size());
    reference::max_pool_forward(y.data(), ignored.data(), x.data(), s);
    return testing::dot(y, dy);
  };
  reference::max_pool_forward(y.data(), places.data(), x.data(), s);
  reference::max_pool_backward(dx.data(), dy.data(), places.data(), s);
  expect_close(dx, central_differences(x, 1e-6, loss), 1e-8, "dx");
}

TEST(ReferenceAvgPool, DividesByTheWindowOrByWhatIsInside) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  const reference::PoolShape shape{1, 2, 3, 1, 2, 2, 2, 2, 1, 1};
  std::vector<double> y(4);
  reference::avg_pool_forward(y.data(), x.data(), shape, true);
  expect_close(y, std::vector<double>{0.25, 1.25, 1, 2.75}, 1e-14, "the window");
  reference::avg_pool_forward(y.data(), x.data(), shape, false);
  expect_close(y, std::vector<double>{1, 2.5, 4, 5.5}, 1e-14, "inside");
}

TEST(ReferenceAvgPool, GradientMatchesFiniteDifferences) {
  const reference::PoolShape s{2, 5, 4, 2, 3, 2, 2, 1, 1, 1};
  for (const bool count_include_pad : {true, false}) {
    auto x = random_values<double>(s.batch * s.in_h * s.in_w * s.channels, 1);
    const auto dy = random_values<double>(s.batch * s.out_h() * s.out_w() * s.channels, 2);
    std::vector<double> y(dy.size()), dx(x.size());
    reference::avg_pool_backward(dx.data(), dy.data(), s, count_include_pad);
    const auto loss = [&] {
      reference::avg_pool_forward(y.data(), x.data(), s, count_include_pad);
      return testing::dot(y, dy);
    };
    expect_close(dx, central_differences(x, 1e-3, loss), 1e-9, "dx");
  }
}

TEST(ReferenceAdaptiveAvgPool, GivesWhatPyTorchGives) {
  std::vector<double> x(15), y(6);
  std::iota(x.begin(), x.end(), 0);
  reference::adaptive_avg_pool_forward(y.data(), x.data(), {1, 3, 5, 1, 2, 3});
  expect_close(y, std::vector<double>{3, 4.5, 6, 8, 9.5, 11}, 1e-14, "y");
}

TEST(ReferenceAdaptiveAvgPool, GradientMatchesFiniteDifferences) {
  for (const reference::AdaptiveAvgPoolShape s :
       {reference::AdaptiveAvgPoolShape{2, 5, 7, 2, 3, 2}, reference::AdaptiveAvgPoolShape{1, 4, 6, 3, 1, 1},
        reference::AdaptiveAvgPoolShape{1, 2, 3, 1, 4, 5}}) {
    auto x = random_values<double>(s.batch * s.in_h * s.in_w * s.channels, 1);
    const auto dy = random_values<double>(s.batch * s.out_h * s.out_w * s.channels, 2);
    std::vector<double> y(dy.size()), dx(x.size());
    reference::adaptive_avg_pool_backward(dx.data(), dy.data(), s);
    const auto loss = [&] {
      reference::adaptive_avg_pool_forward(y.data(), x.data(), s);
      return testing::dot(y, dy);
    };
    expect_close(dx, central_differences(x, 1e-3, loss), 1e-9, "dx");
  }
}

}  // namespace
}  // namespace trireme
