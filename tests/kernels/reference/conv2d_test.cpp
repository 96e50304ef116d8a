// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/conv2d.h"

#include <gtest/gtest.h>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::Conv2dShape;
using testing::central_differences;
using testing::expect_close;
using testing::random_values;

TEST(ReferenceConv2d, GivesWhatPyTorchGives) {
  const std::vector<double> x = {-3, 2, -2, 3, -1, -3, 0,  -2, 1, -1, 2, 0,
                                 3,  1, -3, 2, -2, 3,  -1, -3, 0, -2, 1, -1};
  const std::vector<double> w = {-2, -1, -1, 0, 0, 1,  1,  2,  2,  -2, -2, -1,
                                 0,  1,  1,  2, 2, -2, -2, -1, -1, 0,  0,  1};
  const std::vector<double> bias = {0.5, -1};
  const Conv2dShape shape{1, 3, 4, 2, 2, 2, 3, 2, 1, 1, 0};
  std::vector<double> y(8);
  reference::conv2d_forward(y.data(), x.data(), w.data(), bias.data(), shape);
  EXPECT_EQ(y, (std::vector<double>{-3.5, 2, 10.5, -1, 8.5, 4, -8.5, -2}));
}

class ReferenceConv2dGradients : public ::testing::TestWithParam<Conv2dShape> {};

TEST_P(ReferenceConv2dGradients, MatchFiniteDifferences) {
  const Conv2dShape s = GetParam();
  auto x = random_values<double>(s.batch * s.in_h * s.in_w * s.in_channels, 1);
  auto w = random_values<double>(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels, 2);
  auto bias = random_values<double>(s.out_channels, 3);
  std::vector<double> y(static_cast<std::size_t>(s.batch * s.out_h() * s.out_w() * s.out_channels));
  const auto dy = random_values<double>(static_cast<std::int64_t>(y.size()), 4);
  const auto loss = [&] {
    reference::conv2d_forward(y.data(), x.data(), w.data(), bias.data(), s);
    return testing::dot(y, dy);
  };
  std::vector<double> dx(x.size()), dw(w.size()), dbias(bias.size());
  reference::conv2d_backward_data(dx.data(), dy.data(), w.data(), s);
  reference::conv2d_backward_weights(dw.data(), dbias.data(), x.data(), dy.data(), s);
  expect_close(dx, central_differences(x, 1e-3, loss), 1e-9, "dx");
  expect_close(dw, central_differences(w, 1e-3, loss), 1e-9, "dw");
  expect_close(dbias, central_differences(bias, 1e-3, loss), 1e-9, "dbias");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReferenceConv2dGradients,
                         ::testing::Values(Conv2dShape{2, 5, 4, 3, 2, 3, 3, 1, 1, 1, 1},
                                           Conv2dShape{1, 7, 6, 1, 3, 5, 3, 2, 1, 0, 2},
                                           Conv2dShape{3, 4, 5, 2, 1, 1, 1, 2, 2, 0, 0},
                                           Conv2dShape{1, 3, 3, 2, 2, 7, 7, 2, 2, 3, 3},
                                           Conv2dShape{1, 1, 1, 5, 4, 3, 1, 1, 1, 2, 1}));

}  // namespace
}  // namespace trireme
