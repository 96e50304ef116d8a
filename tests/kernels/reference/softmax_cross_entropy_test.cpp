// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/softmax_cross_entropy.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::SoftmaxCrossEntropyShape;
using testing::central_differences;
using testing::expect_close;
using testing::random_values;

const std::vector<double> kLogits = {1, 2, -1, 0.5, 0.25, -3, 4, 4};
const std::vector<std::int32_t> kLabels = {1, 3};

TEST(ReferenceSoftmaxCrossEntropy, GivesWhatPyTorchGives) {
  std::vector<double> loss(2), gradient(8);
  reference::softmax_cross_entropy_forward(loss.data(), kLogits.data(), kLabels.data(), {2, 4, 2, 0});
  expect_close(loss, std::vector<double>{0.49518189808585605, 0.7052879956100873}, 1e-14, "loss");
  reference::softmax_cross_entropy_forward(loss.data(), kLogits.data(), kLabels.data(), {2, 4, 2, 0.1});
  expect_close(loss, std::vector<double>{0.6326818980858561, 0.9740379956100873}, 1e-14, "smoothed loss");
  reference::softmax_cross_entropy_backward(gradient.data(), kLogits.data(), kLabels.data(), 1.0,
                                            {2, 4, 2, 0.1});
  expect_close(gradient,
               std::vector<double>{0.19920781804820115, -0.3155399624011229, 0.005343228559416224,
                                   0.11098891579350553, -0.013383026244623801, -0.024549561045233384,
                                   0.46896629364492853, -0.4310337063550715},
               1e-14, "gradient");
}

TEST(ReferenceSoftmaxCrossEntropy, PaddingRowsHaveNeitherLossNorGradient) {
  std::vector<double> loss(2, 9), gradient(8, 9);
  const SoftmaxCrossEntropyShape shape{2, 4, 1, 0};
  reference::softmax_cross_entropy_forward(loss.data(), kLogits.data(), kLabels.data(), shape);
  reference::softmax_cross_entropy_backward(gradient.data(), kLogits.data(), kLabels.data(), 1.0, shape);
  EXPECT_EQ(loss[1], 0);
  EXPECT_EQ(std::vector<double>(gradient.begin() + 4, gradient.end()), std::vector<double>(4, 0.0));
}

TEST(ReferenceSoftmaxCrossEntropy, GradientMatchesFiniteDifferences) {
  for (const double smoothing : {0.0, 0.3}) {
    const SoftmaxCrossEntropyShape s{3, 7, 3, smoothing};
    auto logits = random_values<double>(21, 5);
    const std::vector<std::int32_t> labels = {0, 6, 2};
    std::vector<double> loss(3), gradient(21);
    reference::softmax_cross_entropy_backward(gradient.data(), logits.data(), labels.data(), 0.5, s);
    const auto f = [&] {
      reference::softmax_cross_entropy_forward(loss.data(), logits.data(), labels.data(), s);
      return 0.5 * (loss[0] + loss[1] + loss[2]);
    };
    expect_close(gradient, central_differences(logits, 1e-5, f), 1e-9, "dz");
  }
}

TEST(ReferenceSoftmaxCrossEntropy, SurvivesHugeLogits) {
  const std::vector<double> logits = {1e30, 0, -1e30, 0};
  std::vector<double> loss(1);
  const std::int32_t label = 0;
  reference::softmax_cross_entropy_forward(loss.data(), logits.data(), &label, {1, 4, 1, 0});
  EXPECT_EQ(loss[0], 0);
}

TEST(ReferenceSoftmaxCrossEntropy, TiesGoToTheLowestClassAndNanIsNeverInTheTop) {
  const double row[] = {1, 3, 3, 0};
  EXPECT_TRUE(reference::is_in_top(row, 4, 1, 1));
  EXPECT_FALSE(reference::is_in_top(row, 4, 2, 1));
  EXPECT_TRUE(reference::is_in_top(row, 4, 2, 2));
  EXPECT_TRUE(reference::is_in_top(row, 4, 3, 5));
  const double bad[] = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(reference::is_in_top(bad, 2, 0, 5));
}

}  // namespace
}  // namespace trireme
