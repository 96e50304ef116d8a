// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.h"

#include <gtest/gtest.h>

#include "kernels/reference/linear.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"
#include "tests/kernels/support/products.h"

namespace trireme::test {
namespace {

using kernels::LinearShape;

template <typename T>
LinearShape shape_of(std::int64_t batch, std::int64_t in, std::int64_t out) {
  return {batch, in, pitch_of<T>(in), out, pitch_of<T>(out)};
}

template <typename T>
struct Problem {
  explicit Problem(const LinearShape& s)
      : shape(s),
        reference{s.batch, s.in, s.out},
        x(random_rows<T>(s.batch, s.in, 1)),
        dy(random_rows<T>(s.batch, s.out, 2)),
        weights(random_rows<float>(s.out, s.in, 3)),
        bias(random_rows<float>(1, s.out, 4)),
        device_x(with_pitch<T>(x, s.in, s.in_pitch)),
        device_dy(with_pitch<T>(dy, s.out, s.out_pitch)),
        device_weights(weights),
        packed(static_cast<std::size_t>(kernels::linear_packed_weights_size<T>(s))) {
    kernels::linear_pack_weights(packed.data(), device_weights.data(), s, nullptr);
  }

  LinearShape shape;
  reference::LinearShape reference;
  std::vector<float> x, dy, weights, bias;
  DeviceArray<T> device_x, device_dy;
  DeviceArray<float> device_weights;
  DeviceArray<T> packed;
};

template <typename T>
void check_forward(const Problem<T>& problem, bool with_bias, bool relu) {
  const LinearShape& s = problem.shape;
  DeviceArray<T> y(static_cast<std::size_t>(s.batch * s.out_pitch));
  const DeviceArray<float> bias(problem.bias);
  kernels::linear_forward<T>(
      {y.data(), problem.device_x.data(), problem.packed.data(), with_bias ? bias.data() : nullptr, relu}, s,
      nullptr);
  std::vector<double> expected(static_cast<std::size_t>(s.batch * s.out));
  const std::vector<double> bias_values(problem.bias.begin(), problem.bias.end());
  reference::linear_forward(expected.data(), operands<T>(problem.x).data(),
                            operands<T>(problem.weights).data(), with_bias ? bias_values.data() : nullptr,
                            problem.reference);
  for (double& value : expected)
    if (relu && value < 0) value = 0;
  bool pad_is_zero = true;
  expect_near(without_pitch(y.to_host(), s.out, s.out_pitch, pad_is_zero), expected, kUnit<T>,
              sum_error(static_cast<double>(s.in)), "y");
  EXPECT_TRUE(pad_is_zero);
}

template <typename T>
void check_backward_data(const Problem<T>& problem, bool relu) {
  const LinearShape& s = problem.shape;
  DeviceArray<T> dx(static_cast<std::size_t>(s.batch * s.in_pitch));
  kernels::linear_backward_data<T>({dx.data(), problem.device_dy.data(), problem.packed.data(), nullptr,
                                    relu ? problem.device_x.data() : nullptr},
                                   s, nullptr);
  std::vector<double> expected(problem.x.size());
  reference::linear_backward_data(expected.data(), operands<T>(problem.dy).data(),
                                  operands<T>(problem.weights).data(), problem.reference);
  for (std::size_t i = 0; relu && i < expected.size(); ++i)
    if (!(problem.x[i] > 0)) expected[i] = 0;
  bool pad_is_zero = true;
  expect_near(without_pitch(dx.to_host(), s.in, s.in_pitch, pad_is_zero), expected, kUnit<T>,
              sum_error(static_cast<double>(s.out)), "dx");
  EXPECT_TRUE(pad_is_zero);
}

template <typename T>
void check_backward_weights(const Problem<T>& problem, bool accumulate, int multiprocessors) {
  const LinearShape& s = problem.shape;
  const float start = accumulate ? 0.25F : NAN;
  DeviceArray<float> dweights(std::vector<float>(problem.weights.size(), start));
  DeviceArray<float> dbias(std::vector<float>(problem.bias.size(), start));
  DeviceArray<unsigned char> workspace(
      kernels::linear_backward_weights_workspace_bytes<T>(s, multiprocessors));
  kernels::linear_backward_weights<T>({dweights.data(), dbias.data(), problem.device_x.data(),
                                       problem.device_dy.data(), workspace.data(), accumulate},
                                      s, multiprocessors, nullptr);
  std::vector<double> expected(problem.weights.size()), expected_bias(problem.bias.size());
  reference::linear_backward_weights<double>(expected.data(), nullptr, operands<T>(problem.x).data(),
                                             operands<T>(problem.dy).data(), problem.reference);
  for (std::size_t i = 0; i < problem.dy.size(); ++i)  // not rounded to tf32
    expected_bias[i % expected_bias.size()] += problem.dy[i];
  for (double& value : expected) value += accumulate ? 0.25 : 0;
  for (double& value : expected_bias) value += accumulate ? 0.25 : 0;
  const double error = sum_error(static_cast<double>(s.batch));
  expect_near(dweights.to_host(), expected, 1e-6, error, "dweights");
  expect_near(dbias.to_host(), expected_bias, 1e-6, error, "dbias");
}

template <typename T>
void check_passes(const LinearShape& shape) {
  SCOPED_TRACE(::testing::Message() << shape.batch << " rows, " << shape.in << " to " << shape.out);
  const Problem<T> problem(shape);
  check_forward(problem, true, false);
  check_backward_data(problem, false);
  check_backward_weights(problem, false, 4);
}

template <typename T>
class Linear : public ::testing::Test {};
TYPED_TEST_SUITE(Linear, ProductTypes);

TYPED_TEST(Linear, TakesAnyNumberOfRows) {
  for (const std::int64_t batch : {0, 1, 3, 64, 130})
    check_passes<TypeParam>(shape_of<TypeParam>(batch, 40, 36));
}

TYPED_TEST(Linear, TakesAnyNumberOfFeatures) {
  for (const std::int64_t features : {1, 7, 33, 130})
    check_passes<TypeParam>(shape_of<TypeParam>(5, features, 131 - features));
}

TYPED_TEST(Linear, CombinesBiasAndRelu) {
  const Problem<TypeParam> problem(shape_of<TypeParam>(6, 20, 30));
  for (const bool bias : {false, true})
    for (const bool relu : {false, true}) check_forward(problem, bias, relu);
  check_backward_data(problem, true);
}

TYPED_TEST(Linear, AddsToGradientsOfWeights) {
  const Problem<TypeParam> problem(shape_of<TypeParam>(600, 9, 10));
  for (const int multiprocessors : {1, 64}) check_backward_weights(problem, true, multiprocessors);
}

// Classifiers, cut to at most a few rows: their size is in the features.
class LayersOfClassifiers : public ::testing::Test {
 protected:
  template <typename T>
  static void check(std::int64_t in, std::int64_t out) {
    check_passes<T>(shape_of<T>(8, in, out));
  }
};
TEST_F(LayersOfClassifiers, Resnet50) {
  check<simt::BFloat16>(2048, 1000);
}
TEST_F(LayersOfClassifiers, Resnet50InTf32) {
  check<simt::Tf32>(2048, 1000);
}
TEST_F(LayersOfClassifiers, Vgg16First) {
  check<simt::BFloat16>(25088, 256);
}  // of 4096 outputs
TEST_F(LayersOfClassifiers, Vgg16Second) {
  check<simt::Half>(4096, 1024);
}
TEST_F(LayersOfClassifiers, Vgg16Last) {
  check<float>(4096, 1000);
}

}  // namespace
}  // namespace trireme::test
