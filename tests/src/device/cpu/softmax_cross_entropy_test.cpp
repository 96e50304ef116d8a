// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/softmax_cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::expect_close;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

constexpr std::int32_t kLabels[] = {1, 0, 4, 2, 6};

OpCase make_case(std::int64_t batch, std::int64_t classes, double smoothing) {
  OpCase c;
  c.op = SoftmaxCrossEntropyOp{smoothing};
  c.inputs = {{Shape{batch, classes}, random_values<float>(batch * classes, 1)}};
  for (float& z : c.inputs[0].values) z *= 4;
  c.output_shape = {batch};
  c.output_grad.assign(static_cast<std::size_t>(batch), 0.25F);  // what gradient_scale makes of each loss
  c.context.gradient_scale = 0.25F;
  c.context.labels = kLabels;
  return c;
}

TEST(CpuSoftmaxCrossEntropy, AgreesWithTheReferenceAndCounts) {
  const auto device = make_cpu_device({1});
  for (const std::int64_t classes : {7, 10, 1000})
    for (const double smoothing : {0.0, 0.1})
      for (const std::int64_t valid : {3, 5}) {
        OpCase c = make_case(5, classes, smoothing);
        c.context.valid_samples = valid;
        const float* logits = c.inputs[0].values.data();
        const reference::SoftmaxCrossEntropyShape s{5, classes, valid, smoothing};
        std::vector<float> loss(5), gradient(c.inputs[0].values.size());
        reference::softmax_cross_entropy_forward(loss.data(), logits, kLabels, s);
        reference::softmax_cross_entropy_backward(gradient.data(), logits, kLabels, 0.25, s);
        const OpResult result = run_op(*device, c);
        expect_close(result.output, loss, 1e-7, "loss");
        expect_close(result.input_grads[0], gradient, 1e-7, "gradient");

        StepRecord expected;
        for (std::int64_t n = 0; n < valid; ++n) {
          expected.loss_sum += static_cast<double>(loss[static_cast<std::size_t>(n)]);
          expected.top1 += reference::is_in_top(logits + n * classes, classes, kLabels[n], 1) ? 1 : 0;
          expected.top5 += reference::is_in_top(logits + n * classes, classes, kLabels[n], 5) ? 1 : 0;
        }
        EXPECT_EQ(result.record.samples, valid);
        EXPECT_EQ(result.record.top1, expected.top1);
        EXPECT_EQ(result.record.top5, expected.top5);
        EXPECT_NEAR(result.record.loss_sum, expected.loss_sum, 1e-5);
        EXPECT_NEAR(static_cast<double>(result.record.loss_fixed) * 0x1p-24, expected.loss_sum, 1e-5);
      }
}

TEST(CpuSoftmaxCrossEntropy, PaddingRowsMayHoldAnything) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case(3, 7, 0);
  const OpResult clean = run_op(*device, [&] {
    OpCase two = make_case(2, 7, 0);
    std::copy_n(c.inputs[0].values.begin(), 14, two.inputs[0].values.begin());
    return two;
  }());
  std::fill(c.inputs[0].values.begin() + 14, c.inputs[0].values.end(), std::nanf("1"));
  const std::int32_t labels[] = {kLabels[0], kLabels[1], -77};
  c.context.labels = labels;
  c.context.valid_samples = 2;
  const OpResult result = run_op(*device, c);
  EXPECT_EQ(result.output[2], 0);
  EXPECT_EQ(result.record.loss_sum, clean.record.loss_sum);
  EXPECT_EQ(std::vector<float>(result.input_grads[0].begin() + 14, result.input_grads[0].end()),
            std::vector<float>(7, 0.0F));
}

TEST(CpuSoftmaxCrossEntropy, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  for (const double smoothing : {0.0, 0.2})
    testing::expect_gradients_match_differences(*device, make_case(3, 7, smoothing), 0, 0.01, 1e-4);
}

TEST(CpuSoftmaxCrossEntropy, DoesNotSmoothInInference) {
  const auto device = make_cpu_device({1});
  OpCase smoothed = make_case(5, 10, 0.3), plain = make_case(5, 10, 0);
  smoothed.training = plain.training = false;
  EXPECT_EQ(run_op(*device, smoothed).output, run_op(*device, plain).output);
}

TEST(CpuSoftmaxCrossEntropy, TiesGoToTheLowestClass) {
  const auto device = make_cpu_device({1});
  const auto counts = [&](std::int32_t label) {
    OpCase c = make_case(1, 7, 0);
    c.inputs[0].values = {5, 9, 9, 5, 5, 5, 5};
    c.context.labels = &label;
    const StepRecord record = run_op(*device, c).record;
    return std::pair(record.top1, record.top5);
  };
  EXPECT_EQ(counts(1), std::pair(1L, 1L));
  EXPECT_EQ(counts(2), std::pair(0L, 1L));
  EXPECT_EQ(counts(4), std::pair(0L, 1L));  // better: 1, 2, 0, 3
  EXPECT_EQ(counts(5), std::pair(0L, 0L));
}

TEST(CpuSoftmaxCrossEntropy, NanIsNeverCorrectAndKeepsTheFixedSumFinite) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case(1, 3, 0);
  c.inputs[0].values = {1, 5, std::nanf("1")};
  const StepRecord record = run_op(*device, c).record;
  EXPECT_EQ(record.top1, 0);
  EXPECT_EQ(record.top5, 0);
  EXPECT_TRUE(std::isnan(record.loss_sum));
  EXPECT_EQ(record.loss_fixed, std::int64_t{1} << 40);
}

TEST(CpuSoftmaxCrossEntropy, SurvivesHugeLogits) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case(1, 3, 0);
  c.inputs[0].values = {-1e30F, 1e30F, 0};
  const OpResult result = run_op(*device, c);
  EXPECT_EQ(result.output[0], 0);
  EXPECT_EQ(result.input_grads[0], std::vector<float>(3, 0.0F));
}

TEST(CpuSoftmaxCrossEntropy, RefusesALabelThatIsNoClass) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case(1, 3, 0);
  const std::int32_t label = 3;
  c.context.labels = &label;
  EXPECT_THROW(run_op(*device, c), Error);
}

}  // namespace
}  // namespace trireme
