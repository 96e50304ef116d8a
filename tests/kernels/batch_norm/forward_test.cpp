// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/batch_norm/batch_norm_case.h"

namespace trireme::kernels {
namespace {

using test::ChannelArrays;
using test::NormInputs;
using test::NormOnDevice;
using test::NormReference;

template <typename T>
class BatchNormForward : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(BatchNormForward, Types);

TYPED_TEST(BatchNormForward, EqualsTheReferenceWithAndWithoutResidualAndRelu) {
  using T = TypeParam;
  for (const test::NormSize& size : test::kNormSizes) {
    NormInputs<T> inputs(size.rows, size.channels, size.extra_vectors);
    NormOnDevice<T> norm(inputs);
    norm.forward(false, false);
    NormReference reference(inputs);
    for (const bool with_residual : {false, true})
      for (const bool relu : {false, true}) {
        norm.normalize(with_residual, relu);
        reference.forward(with_residual, relu);
        test::expect_rounded<T>(inputs.dense(norm.y), reference.y, test::kNormSlack,
                                "y of " + std::to_string(size.rows) + " rows");
      }
    // Some roundings of values up to 1, wherever their mean is.
    test::expect_rounded<float>(norm.channels.mean.to_host(), reference.mean, 2e-7, "mean");
    test::expect_by_channel(norm.channels.variance, reference.variance, 1, "variance");
    std::vector<double> inverse = reference.variance;
    for (double& value : inverse) value = 1 / std::sqrt(value + test::kEpsilon);
    test::expect_by_channel(norm.channels.inverse_deviation, inverse, 1, "inverse deviation");
  }
}

TYPED_TEST(BatchNormForward, MayOverwriteItsInputsAndRepeatsItsBits) {
  using T = TypeParam;
  NormInputs<T> inputs(300, 20, 1);
  NormOnDevice<T> norm(inputs), again(inputs);
  norm.forward(true, true);
  again.forward(true, true);
  const std::vector<float> y = inputs.dense(norm.y);
  EXPECT_EQ(inputs.dense(again.y), y);
  EXPECT_EQ(again.channels.inverse_deviation.to_host(), norm.channels.inverse_deviation.to_host());
  batch_norm_apply<T>(again.residual.data(), again.x.data(), again.residual.data(), again.factors(), true,
                      inputs.shape, nullptr);
  EXPECT_EQ(inputs.dense(again.residual), y);
  batch_norm_apply<T>(norm.x.data(), norm.x.data(), norm.residual.data(), norm.factors(), true, inputs.shape,
                      nullptr);
  EXPECT_EQ(inputs.dense(norm.x), y);
}

TYPED_TEST(BatchNormForward, InferenceNormalizesByTheRunningStatistics) {
  using T = TypeParam;
  NormInputs<T> inputs(40, 11, 1);
  NormOnDevice<T> norm(inputs);
  const test::DeviceArray<float> mean(test::random_by_channel(11, 7, -1, 1));
  const test::DeviceArray<float> variance(test::random_by_channel(11, 8, 0.1F, 2));
  const BatchNormFactors factors{
      norm.scale.data(), norm.shift.data(), mean.data(), variance.data(), true, 1e-3F};
  batch_norm_apply<T>(norm.y.data(), norm.x.data(), norm.residual.data(), factors, true, inputs.shape,
                      nullptr);

  NormReference reference(inputs);
  const std::vector<double> wide_mean = test::widen(mean.to_host()),
                            wide_variance = test::widen(variance.to_host());
  reference::batch_norm_forward_inference(reference.y.data(), reference.x.data(), reference.scale.data(),
                                          reference.shift.data(), wide_mean.data(), wide_variance.data(),
                                          {40, 11, 1e-3F});
  const auto count = static_cast<std::int64_t>(reference.y.size());
  reference::add_forward(reference.y.data(), reference.y.data(), reference.residual.data(), count);
  reference::relu_forward(reference.y.data(), reference.y.data(), count);
  test::expect_rounded<T>(inputs.dense(norm.y), reference.y, test::kNormSlack, "y");
}

TYPED_TEST(BatchNormForward, RunningStatisticsGetTheirShareOfTheUnbiasedVariance) {
  using T = TypeParam;
  NormInputs<T> inputs(21, 9);
  NormOnDevice<T> norm(inputs);
  NormReference reference(inputs);
  reference.forward(false, false);
  std::vector<double> unbiased(9);
  for (std::size_t c = 0; c < 9; ++c) unbiased[c] = reference.unbiased(c);

  norm.forward(false, false);
  test::expect_by_channel(norm.channels.running_mean, reference.mean, 0.25, "mean");
  test::expect_by_channel(norm.channels.running_variance, unbiased, 0.25, "variance");
  norm.channels.set_share(0.5F);
  norm.forward(false, false, true);
  test::expect_by_channel(norm.channels.running_mean, reference.mean, 0.75, "accumulated mean");
  test::expect_by_channel(norm.channels.running_variance, unbiased, 0.75, "accumulated variance");
  norm.forward(false, false);
  test::expect_by_channel(norm.channels.running_mean, reference.mean, 0.5, "mean written over");
}

TYPED_TEST(BatchNormForward, NaNShowsAndOneValuePerChannelIsRefused) {
  using T = TypeParam;
  NormInputs<T> inputs(5, 3);
  inputs.x[4] = NAN;  // channel 1
  NormOnDevice<T> norm(inputs);
  norm.forward(false, true);
  const std::vector<float> y = inputs.dense(norm.y);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 3 == 1) << i;

  NormOnDevice<T> single(NormInputs<T>(1, 3));
  EXPECT_THROW(single.forward(false, false), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
