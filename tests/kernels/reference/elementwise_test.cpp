// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::central_differences;
using testing::expect_close;
using testing::random_values;

TEST(ReferenceRelu, KeepsNanAndTakesZeroAsFlat) {
  const std::vector<double> x = {-1, 0, 2, std::numeric_limits<double>::quiet_NaN()}, dy = {5, 6, 7, 8};
  std::vector<double> y(4), dx(4);
  reference::relu_forward(y.data(), x.data(), 4);
  EXPECT_EQ(std::vector<double>(y.begin(), y.begin() + 3), (std::vector<double>{0, 0, 2}));
  EXPECT_TRUE(std::isnan(y[3]));
  reference::relu_backward(dx.data(), dy.data(), y.data(), 3);
  EXPECT_EQ(std::vector<double>(dx.begin(), dx.begin() + 3), (std::vector<double>{0, 0, 7}));
}

TEST(ReferenceRelu, GradientMatchesFiniteDifferences) {
  auto x = random_values<double>(50, 1);
  const auto dy = random_values<double>(50, 2);
  std::vector<double> y(50), dx(50);
  reference::relu_forward(y.data(), x.data(), 50);
  reference::relu_backward(dx.data(), dy.data(), y.data(), 50);
  const auto loss = [&] {
    reference::relu_forward(y.data(), x.data(), 50);
    return testing::dot(y, dy);
  };
  expect_close(dx, central_differences(x, 1e-6, loss), 1e-8, "dx");
}

TEST(ReferenceAdd, SumsAndItsGradientIsTheOutputs) {
  auto a = random_values<double>(9, 1);
  const auto b = random_values<double>(9, 2), dz = random_values<double>(9, 3);
  std::vector<double> z(9);
  reference::add_forward(z.data(), a.data(), b.data(), 9);
  EXPECT_EQ(z[4], a[4] + b[4]);
  const auto loss = [&] {
    reference::add_forward(z.data(), a.data(), b.data(), 9);
    return testing::dot(z, dz);
  };
  expect_close(dz, central_differences(a, 1e-3, loss), 1e-9, "da");
}

TEST(ReferenceDropout, DropsAndScales) {
  const std::vector<std::uint8_t> keep = {1, 0, 1};
  auto x = std::vector<double>{2, 4, -3};
  const std::vector<double> dy = {1, 1, 2};
  std::vector<double> y(3), dx(3);
  reference::dropout(y.data(), x.data(), keep.data(), 0.75, 3);
  EXPECT_EQ(y, (std::vector<double>{8, 0, -12}));
  reference::dropout(dx.data(), dy.data(), keep.data(), 0.75, 3);
  const auto loss = [&] {
    reference::dropout(y.data(), x.data(), keep.data(), 0.75, 3);
    return testing::dot(y, dy);
  };
  expect_close(dx, central_differences(x, 1e-3, loss), 1e-9, "dx");
}

}  // namespace
}  // namespace trireme
