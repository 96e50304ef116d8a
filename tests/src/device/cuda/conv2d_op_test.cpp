// SPDX-License-Identifier: Apache-2.0
// Convolutions of the CUDA device against the reference, in every precision.
#include <gtest/gtest.h>

#include "kernels/reference/conv2d.h"
#include "src/core/error.h"
#include "tests/src/device/cuda/cuda_op_harness.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

using Doubles = std::vector<double>;

Doubles widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

class Conv2dOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  Precision precision() const { return GetParam(); }
  CudaDevice& device() { return *device_; }

  /// Numbers that activations hold exactly; the weights too, so that packing rounds nothing.
  std::vector<float> numbers(std::int64_t count, std::uint32_t seed) const {
    return rounded(random_values<float>(count, seed), element_of(precision()));
  }

  CudaCase conv_case(const Shape& x, const Conv2dOp& op) const {
    CudaCase c;
    c.precision = precision();
    c.op = op;
    c.inputs = {{x, numbers(x.count(), 1)}};
    c.output_shape = {x[0], (x[1] + 2 * op.pad_h - op.kernel_h) / op.stride_h + 1,
                      (x[2] + 2 * op.pad_w - op.kernel_w) / op.stride_w + 1, op.out_channels};
    c.parameters = {numbers(op.out_channels * op.kernel_h * op.kernel_w * x[3], 2)};
    if (op.bias) c.parameters.push_back(random_values<float>(op.out_channels, 3));
    c.output_grad = numbers(c.output_shape.count(), 4);
    return c;
  }

  void check(const CudaCase& c) {
    SCOPED_TRACE(text_of(precision()) + " " + c.inputs[0].shape.text() + " to " + c.output_shape.text());
    const CudaResult result = run_op(device(), c);
    check_output(c, result);
    if (!result.input_grads[0].empty()) check_input_gradient(c, result);
    check_parameter_gradients(c, result);
  }

  static reference::Conv2dShape shape_of(const CudaCase& c) {
    const auto& op = std::get<Conv2dOp>(c.op);
    const Shape& x = c.inputs[0].shape;
    return {x[0],        x[1],        x[2],        x[3],     op.out_channels, op.kernel_h,
            op.kernel_w, op.stride_h, op.stride_w, op.pad_h, op.pad_w};
  }

  void check_output(const CudaCase& c, const CudaResult& result) const {
    const auto& op = std::get<Conv2dOp>(c.op);
    Doubles y(static_cast<std::size_t>(c.output_shape.count()));
    const Doubles x = widened(c.inputs[0].values), w = widened(c.parameters[0]);
    const Doubles bias = op.bias ? widened(c.parameters[1]) : Doubles();
    reference::conv2d_forward(y.data(), x.data(), w.data(), op.bias ? bias.data() : nullptr, shape_of(c));
    if (op.relu)
      for (double& value : y) value = std::max(value, 0.0);
    expect_close(result.output, y, tolerance(), "output");
    EXPECT_EQ(layout_of(result.facts.output).after_relu, op.relu);
  }

  void check_input_gradient(const CudaCase& c, const CudaResult& result) const {
    Doubles dx(static_cast<std::size_t>(c.inputs[0].shape.count()));
    const Doubles dy = widened(c.output_grad), w = widened(c.parameters[0]);
    reference::conv2d_backward_data(dx.data(), dy.data(), w.data(), shape_of(c));
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (c.addend != Addend::none) dx[i] += static_cast<double>(c.input_grad_addend[i]);
      if (c.inputs[0].after_relu && !(c.inputs[0].values[i] > 0)) dx[i] = 0;
    }
    expect_close(result.input_grads[0], dx, tolerance(), "input gradient");
  }

  void check_parameter_gradients(const CudaCase& c, const CudaResult& result) const {
    const auto& op = std::get<Conv2dOp>(c.op);
    std::vector<Doubles> gradients;
    for (const std::vector<float>& values : c.parameters) gradients.emplace_back(values.size());
    const Doubles x = widened(c.inputs[0].values), dy = widened(c.output_grad);
    reference::conv2d_backward_weights(gradients[0].data(), op.bias ? gradients[1].data() : nullptr, x.data(),
                                       dy.data(), shape_of(c));
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      if (!c.prior_gradients.empty())
        for (std::size_t i = 0; i < gradients[p].size(); ++i)
          gradients[p][i] += static_cast<double>(c.prior_gradients[p][i]);
      expect_close(result.parameter_grads[p], gradients[p], tolerance(), "parameter " + std::to_string(p));
    }
  }

  /// Of the largest number; sums are fp32.
  double tolerance() const { return unit_of(precision()) + 1e-5; }

  std::unique_ptr<CudaDevice> device_ = make_test_device(GetParam());
};

TEST_P(Conv2dOpTest, FollowsTheReference) {
  check(conv_case({2, 7, 9, 16}, {.out_channels = 24, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}));
  check(conv_case({2, 9, 7, 5}, {.out_channels = 11,
                                 .kernel_h = 3,
                                 .kernel_w = 2,
                                 .stride_h = 2,
                                 .stride_w = 2,
                                 .pad_h = 1,
                                 .bias = true}));
  check(conv_case({3, 5, 5, 33}, {.out_channels = 17, .kernel_h = 1, .kernel_w = 1}));
}

TEST_P(Conv2dOpTest, AReluIsMadeInPassingAndSaidInTheLayout) {
  check(conv_case(
      {2, 6, 6, 8},
      {.out_channels = 9, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .bias = true, .relu = true}));
}

TEST_P(Conv2dOpTest, CutsTheGradientWhereAReluMadeTheInput) {
  CudaCase c = conv_case({2, 6, 5, 10}, {.out_channels = 8, .kernel_h = 3, .kernel_w = 3, .pad_h = 1});
  c.inputs[0].after_relu = true;
  for (float& x : c.inputs[0].values) x = std::max(x, 0.0F);
  check(c);
  c.addend = Addend::apart;
  c.input_grad_addend = numbers(c.inputs[0].shape.count(), 7);
  check(c);
}

TEST_P(Conv2dOpTest, AddsToAGradientThatIsThere) {
  CudaCase c = conv_case({2, 6, 5, 10}, {.out_channels = 8, .kernel_h = 3, .kernel_w = 3, .pad_w = 1});
  c.input_grad_addend = numbers(c.inputs[0].shape.count(), 7);
  c.addend = Addend::apart;
  check(c);
  c.addend = Addend::in_place;
  check(c);
}

TEST_P(Conv2dOpTest, AccumulatesParameterGradients) {
  CudaCase c = conv_case({2, 6, 6, 7}, {.out_channels = 10, .kernel_h = 3, .kernel_w = 3, .bias = true});
  for (std::size_t p = 0; p < 2; ++p)
    c.prior_gradients.push_back(random_values<float>(std::ssize(c.parameters[p]), 20));
  check(c);
}

TEST_P(Conv2dOpTest, MakesNoInputGradientWhereNobodyWantsIt) {
  CudaCase c = conv_case({2, 9, 9, 3}, {.out_channels = 16,
                                        .kernel_h = 7,
                                        .kernel_w = 7,
                                        .stride_h = 2,
                                        .stride_w = 2,
                                        .pad_h = 3,
                                        .pad_w = 3});
  c.inputs[0].wants_gradient = false;
  check(c);
  if (size_of(element_of(precision())) == 2) {
    c.inputs[0].pitch = 4;  // the first layer's
    check(c);
  }
}

TEST_P(Conv2dOpTest, RecordedPassesGiveTheSameBits) {
  CudaCase c = conv_case({2, 6, 6, 7}, {.out_channels = 10, .kernel_h = 3, .kernel_w = 3, .bias = true});
  const CudaResult eager = run_op(device(), c);
  c.recorded = true;
  expect_same_bits(run_op(device(), c), eager, "recorded");
}

TEST_P(Conv2dOpTest, InferenceNeedsNoBackwardMemory) {
  CudaCase c = conv_case({2, 7, 7, 8}, {.out_channels = 8, .kernel_h = 3, .kernel_w = 3, .relu = true});
  c.training = false;
  const CudaResult result = run_op(device(), c);
  check_output(c, result);
  EXPECT_EQ(result.facts.backward_scratch_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Conv2dOpTest,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& tested) { return text_of(tested.param); });

}  // namespace
}  // namespace trireme::testing
