// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/simt/emulator/settings.h"
#include "tests/kernels/conv2d/conv2d_problem.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::test {
namespace {

// The bits do not depend on the order in which blocks and threads run.
TEST(Conv2dDeterminism, HoldsInEveryOrder) {
  using T = simt::BFloat16;
  constexpr int kMultiprocessors = 8;
  const kernels::Conv2dShape s = shape_of<T>(square(8, 12, 9, 10, 3, 1, 1));
  ASSERT_GT(kernels::conv2d_backward_weights_splits<T>(s, kMultiprocessors), 2);
  const ConvProblem<T> problem(s);
  DeviceArray<unsigned char> workspace(
      kernels::conv2d_backward_weights_workspace_bytes<T>(s, kMultiprocessors));
  std::vector<float> first;
  for (const auto order :
       {simt::emulator::Order::forward, simt::emulator::Order::reverse, simt::emulator::Order::seeded}) {
    const WithSettings with([order](auto& settings) { settings.order = order; });
    DeviceArray<float> dweights(problem.weights.size()), dbias(problem.bias.size());
    kernels::conv2d_backward_weights<T>({dweights.data(), dbias.data(), problem.device_x.data(),
                                         problem.device_dy.data(), workspace.data(), false},
                                        s, kMultiprocessors, nullptr);
    const std::vector<float> gradient = dweights.to_host();
    if (first.empty()) first = gradient;
    EXPECT_EQ(std::memcmp(first.data(), gradient.data(), first.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace trireme::test
