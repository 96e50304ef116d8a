// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/batch_norm/batch_norm_case.h"

namespace trireme::kernels {
namespace {

using test::NormInputs;
using test::NormOnDevice;
using test::NormReference;

template <typename T>
class BatchNormBackward : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(BatchNormBackward, Types);

/// The inverse deviation of two close values is large; so is what fp32 loses of a gradient then.
double slack_of(const NormReference& reference) {
  double largest = 0;
  for (const double variance : reference.variance)
    largest = std::max(largest, 1 / std::sqrt(variance + test::kEpsilon));
  return test::kNormSlack * largest;
}

TYPED_TEST(BatchNormBackward, EqualsTheReferenceForEachKindOfMask) {
  using T = TypeParam;
  for (const test::NormSize& size : test::kNormSizes)
    for (const ReluMask mask : {ReluMask::none, ReluMask::recomputed, ReluMask::stored}) {
      const bool relu = mask != ReluMask::none, with_residual = mask == ReluMask::stored;
      NormInputs<T> inputs(size.rows, size.channels, size.extra_vectors);
      NormOnDevice<T> norm(inputs);
      norm.forward(with_residual, relu);
      norm.backward(norm.gradient_inputs(mask), norm.dx.data());

      NormReference reference(inputs);
      reference.forward(with_residual, relu);
      reference.backward(relu, inputs.dense(norm.y));
      const std::string what =
          std::to_string(size.rows) + " rows, mask " + std::to_string(static_cast<int>(mask));
      test::expect_rounded<T>(inputs.dense(norm.dx), reference.dx, slack_of(reference), "dx of " + what);
      test::expect_by_channel(norm.channels.scale_gradient, reference.scale_gradient, 1, "dscale of " + what,
                              4e-6);
      test::expect_by_channel(norm.channels.shift_gradient, reference.shift_gradient, 1, "dshift of " + what,
                              4e-6);
      if (mask == ReluMask::stored) {
        EXPECT_EQ(test::widen(inputs.dense(norm.masked)), reference.masked) << what;
      }
    }
}

TYPED_TEST(BatchNormBackward, MayOverwriteGradientsAndRepeatsItsBits) {
  using T = TypeParam;
  for (const ReluMask mask : {ReluMask::none, ReluMask::recomputed, ReluMask::stored}) {
    NormInputs<T> inputs(300, 20, 1);
    NormOnDevice<T> norm(inputs), in_place(inputs);
    norm.forward(mask == ReluMask::stored, true);
    in_place.forward(mask == ReluMask::stored, true);
    norm.backward(norm.gradient_inputs(mask), norm.dx.data());
    auto from = in_place.gradient_inputs(mask);
    if (mask == ReluMask::stored) from.masked_dy = in_place.dy.data();
    in_place.backward(from, in_place.dy.data());
    EXPECT_EQ(inputs.dense(in_place.dy), inputs.dense(norm.dx));
    EXPECT_EQ(in_place.channels.scale_gradient.to_host(), norm.channels.scale_gradient.to_host());
  }
}

TYPED_TEST(BatchNormBackward, ParameterGradientsAreWrittenThenAdded) {
  using T = TypeParam;
  NormInputs<T> inputs(21, 9);
  NormOnDevice<T> norm(inputs);
  norm.forward(false, false);
  norm.backward(norm.gradient_inputs(ReluMask::none), norm.dx.data());
  norm.backward(norm.gradient_inputs(ReluMask::none), norm.dx.data(), true);
  NormReference reference(inputs);
  reference.forward(false, false);
  reference.backward(false, {});
  test::expect_by_channel(norm.channels.scale_gradient, reference.scale_gradient, 2, "dscale", 4e-6);
  test::expect_by_channel(norm.channels.shift_gradient, reference.shift_gradient, 2, "dshift", 4e-6);
  std::vector<double> unbiased(9);
  for (std::size_t c = 0; c < 9; ++c) unbiased[c] = reference.unbiased(c);
  test::expect_by_channel(norm.channels.running_mean, reference.mean, 0.5, "running mean");
  test::expect_by_channel(norm.channels.running_variance, unbiased, 0.5, "running variance");
}

/// A ReLU passes a gradient only where forward stored a positive number, even if rounding made it zero.
TEST(BatchNormBackwardHalf, TheRecomputedSignIsThatOfTheStoredValue) {
  NormInputs<Half> inputs(64, 8);
  for (float& value : inputs.scale) value = 2e-8F;  // y is below 2^-25 or next to it
  for (float& value : inputs.shift) value = 0;
  NormOnDevice<Half> norm(inputs);
  norm.forward(false, true);
  norm.backward(norm.gradient_inputs(ReluMask::recomputed), norm.dx.data());
  NormReference reference(inputs);
  reference.forward(false, true);
  const std::vector<float> y = inputs.dense(norm.y);
  int rounded_to_zero = 0;
  for (std::size_t i = 0; i < y.size(); ++i) rounded_to_zero += reference.y[i] > 0 && y[i] == 0 ? 1 : 0;
  ASSERT_GT(rounded_to_zero, 10);  // else nothing is tested
  reference.backward(true, y);
  test::expect_by_channel(norm.channels.shift_gradient, reference.shift_gradient, 1, "dshift", 4e-6);
}

/// z = relu(bn(x) + residual), sum z w: the difference quotient of fp32 forwards against backward.
TEST(BatchNormBackwardFloat, MatchesFiniteDifferencesThroughAdditionAndRelu) {
  NormInputs<float> inputs(9, 3);
  NormOnDevice<float> norm(inputs);
  norm.forward(true, true);
  norm.backward(norm.gradient_inputs(ReluMask::stored), norm.dx.data());
  const std::vector<float> dx = inputs.dense(norm.dx), dresidual = inputs.dense(norm.masked);

  NormReference exact(inputs);
  exact.forward(true, false);
  for (const double value : exact.y) ASSERT_GT(std::abs(value), 0.01) << "too near to the ReLU's kink";
  const auto loss = [&](const NormInputs<float>& with) {
    NormOnDevice<float> forward(with);
    forward.forward(true, true);
    const std::vector<float> z = with.dense(forward.y);
    double sum = 0;
    for (std::size_t i = 0; i < z.size(); ++i)
      sum += static_cast<double>(z[i]) * static_cast<double>(with.dy[i]);
    return sum;
  };
  const auto quotient = [&](std::vector<float> NormInputs<float>::*which, std::size_t i) {
    constexpr float kStep = 0x1p-10F;
    NormInputs<float> above = inputs, below = inputs;
    (above.*which)[i] += kStep;
    (below.*which)[i] -= kStep;
    return (loss(above) - loss(below)) / (2 * static_cast<double>(kStep));
  };
  // An fp32 loss of a few units is right to some 1e-6, over a step of 2e-3.
  for (std::size_t i = 0; i < dx.size(); ++i) {
    EXPECT_NEAR(quotient(&NormInputs<float>::x, i), dx[i], 4e-3) << i;
    EXPECT_NEAR(quotient(&NormInputs<float>::residual, i), dresidual[i], 4e-3) << i;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(quotient(&NormInputs<float>::scale, c), norm.channels.scale_gradient.to_host()[c], 4e-3) << c;
    EXPECT_NEAR(quotient(&NormInputs<float>::shift, c), norm.channels.shift_gradient.to_host()[c], 4e-3) << c;
  }
}

}  // namespace
}  // namespace trireme::kernels
