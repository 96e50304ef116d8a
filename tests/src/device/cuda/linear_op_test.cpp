// SPDX-License-Identifier: Apache-2.0
// Linear layers of the CUDA device against the reference, in every precision.
#include <gtest/gtest.h>

#include "kernels/reference/linear.h"
#include "tests/src/device/cuda/cuda_op_harness.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

using Doubles = std::vector<double>;

Doubles widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

class LinearOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  std::vector<float> numbers(std::int64_t count, std::uint32_t seed) const {
    return rounded(random_values<float>(count, seed), element_of(GetParam()));
  }

  CudaCase linear_case(std::int64_t batch, std::int64_t in, const LinearOp& op) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = op;
    c.inputs = {{{batch, in}, numbers(batch * in, 1)}};
    c.output_shape = {batch, op.out_features};
    c.parameters = {numbers(op.out_features * in, 2)};
    if (op.bias) c.parameters.push_back(random_values<float>(op.out_features, 3));
    c.output_grad = numbers(batch * op.out_features, 4);
    return c;
  }

  void check(const CudaCase& c) {
    SCOPED_TRACE(text_of(GetParam()) + " " + c.inputs[0].shape.text() + " to " + c.output_shape.text());
    const auto& op = std::get<LinearOp>(c.op);
    const CudaResult result = run_op(*device_, c);
    const reference::LinearShape shape{c.output_shape[0], c.inputs[0].shape[1], op.out_features};
    const Doubles x = widened(c.inputs[0].values), w = widened(c.parameters[0]), dy = widened(c.output_grad);
    const Doubles bias = op.bias ? widened(c.parameters[1]) : Doubles();
    Doubles y(dy.size()), dx(x.size());
    std::vector<Doubles> gradients;
    for (const std::vector<float>& values : c.parameters) gradients.emplace_back(values.size());
    reference::linear_forward(y.data(), x.data(), w.data(), op.bias ? bias.data() : nullptr, shape);
    reference::linear_backward_data(dx.data(), dy.data(), w.data(), shape);
    reference::linear_backward_weights(gradients[0].data(), op.bias ? gradients[1].data() : nullptr, x.data(),
                                       dy.data(), shape);
    if (op.relu)
      for (double& value : y) value = std::max(value, 0.0);
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (c.addend != Addend::none) dx[i] += static_cast<double>(c.input_grad_addend[i]);
      if (c.inputs[0].after_relu && !(x[i] > 0)) dx[i] = 0;
    }
    for (std::size_t p = 0; p < c.prior_gradients.size(); ++p)
      for (std::size_t i = 0; i < gradients[p].size(); ++i)
        gradients[p][i] += static_cast<double>(c.prior_gradients[p][i]);
    const double tolerance = unit_of(GetParam()) + 1e-5;
    expect_close(result.output, y, tolerance, "output");
    EXPECT_EQ(layout_of(result.facts.output).after_relu, op.relu);
    if (c.inputs[0].wants_gradient) expect_close(result.input_grads[0], dx, tolerance, "input gradient");
    for (std::size_t p = 0; p < gradients.size(); ++p)
      expect_close(result.parameter_grads[p], gradients[p], tolerance, "parameter " + std::to_string(p));
  }

  std::unique_ptr<CudaDevice> device_ = make_test_device(GetParam());
};

TEST_P(LinearOpTest, FollowsTheReference) {
  check(linear_case(5, 64, {.out_features = 10}));
  check(linear_case(3, 37, {.out_features = 21, .bias = false}));
  check(linear_case(1, 3, {.out_features = 1}));
}

TEST_P(LinearOpTest, ReluAndMaskOfTheInput) {
  CudaCase c = linear_case(6, 29, {.out_features = 18, .relu = true});
  c.inputs[0].after_relu = true;
  for (float& x : c.inputs[0].values) x = std::max(x, 0.0F);
  check(c);
}

TEST_P(LinearOpTest, AddsToGradientsThatAreThere) {
  CudaCase c = linear_case(4, 20, {.out_features = 12});
  c.input_grad_addend = numbers(80, 8);
  for (std::size_t p = 0; p < 2; ++p)
    c.prior_gradients.push_back(random_values<float>(std::ssize(c.parameters[p]), 20));
  for (const Addend addend : {Addend::apart, Addend::in_place}) {
    c.addend = addend;
    check(c);
  }
}

TEST_P(LinearOpTest, MakesNoInputGradientWhereNobodyWantsIt) {
  CudaCase c = linear_case(4, 20, {.out_features = 12});
  c.inputs[0].wants_gradient = false;
  check(c);
}

TEST_P(LinearOpTest, RecordedPassesGiveTheSameBits) {
  CudaCase c = linear_case(4, 20, {.out_features = 12, .relu = true});
  const CudaResult eager = run_op(*device_, c);
  c.recorded = true;
  expect_same_bits(run_op(*device_, c), eager, "recorded");
}

INSTANTIATE_TEST_SUITE_P(All, LinearOpTest,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& tested) { return text_of(tested.param); });

}  // namespace
}  // namespace trireme::testing
