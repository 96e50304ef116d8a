// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::central_differences;
using testing::expect_close;
using testing::random_values;

TEST(ReferenceLinear, MultipliesByTheTransposedWeight) {
  const std::vector<double> x = {1, 2, 3, -1, 0, 1}, w = {1, 0, -1, 2, 1, 0}, bias = {10, 20};
  std::vector<double> y(4);
  reference::linear_forward(y.data(), x.data(), w.data(), bias.data(), {2, 3, 2});
  EXPECT_EQ(y, (std::vector<double>{8, 24, 8, 18}));
  reference::linear_forward<double>(y.data(), x.data(), w.data(), nullptr, {2, 3, 2});
  EXPECT_EQ(y, (std::vector<double>{-2, 4, -2, -2}));
}

TEST(ReferenceLinear, GradientsMatchFiniteDifferences) {
  const reference::LinearShape s{3, 5, 4};
  auto x = random_values<double>(15, 1), w = random_values<double>(20, 2), bias = random_values<double>(4, 3);
  const auto dy = random_values<double>(12, 4);
  std::vector<double> y(12), dx(15), dw(20), dbias(4);
  reference::linear_backward_data(dx.data(), dy.data(), w.data(), s);
  reference::linear_backward_weights(dw.data(), dbias.data(), x.data(), dy.data(), s);
  const auto loss = [&] {
    reference::linear_forward(y.data(), x.data(), w.data(), bias.data(), s);
    return testing::dot(y, dy);
  };
  expect_close(dx, central_differences(x, 1e-3, loss), 1e-9, "dx");
  expect_close(dw, central_differences(w, 1e-3, loss), 1e-9, "dw");
  expect_close(dbias, central_differences(bias, 1e-3, loss), 1e-9, "dbias");
}

TEST(ReferenceFlatten, OrdersFeaturesByChannelThenRow) {
  // Two samples of 2x3 pictures with 2 channels, numbered in NHWC order.
  std::vector<double> x(24), y(24), back(24);
  std::iota(x.begin(), x.end(), 0);
  reference::flatten_forward(y.data(), x.data(), 2, 2, 3, 2);
  EXPECT_EQ(y, (std::vector<double>{0,  2,  4,  6,  8,  10, 1,  3,  5,  7,  9,  11,
                                    12, 14, 16, 18, 20, 22, 13, 15, 17, 19, 21, 23}));
  reference::flatten_backward(back.data(), y.data(), 2, 2, 3, 2);
  EXPECT_EQ(back, x);
}

}  // namespace
}  // namespace trireme
