// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/reference/conv2d.h"
#include "kernels/reference/elementwise.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::Conv2dShape;
using testing::Arrangement;
using testing::expect_close;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

constexpr double kTolerance = 2e-6;

Shape input_shape(const Conv2dShape& s) {
  return {s.batch, s.in_h, s.in_w, s.in_channels};
}
Shape output_shape(const Conv2dShape& s) {
  return {s.batch, s.out_h(), s.out_w(), s.out_channels};
}

OpCase make_case(const Conv2dShape& s, bool bias, bool relu, Arrangement arrangement) {
  OpCase c;
  c.op =
      Conv2dOp{s.out_channels, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.pad_h, s.pad_w, bias, relu};
  c.inputs = {{input_shape(s), random_values<float>(input_shape(s).count(), 1), arrangement}};
  c.output_shape = output_shape(s);
  c.parameters = {random_values<float>(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels, 2)};
  if (bias) c.parameters.push_back(random_values<float>(s.out_channels, 3));
  c.output_grad = random_values<float>(c.output_shape.count(), 4);
  return c;
}

OpResult reference_result(const Conv2dShape& s, const OpCase& c) {
  const auto& op = std::get<Conv2dOp>(c.op);
  OpResult r;
  r.output.resize(c.output_grad.size());
  reference::conv2d_forward(r.output.data(), c.inputs[0].values.data(), c.parameters[0].data(),
                            op.bias ? c.parameters[1].data() : nullptr, s);
  std::vector<float> dy = c.output_grad;
  if (op.relu) {
    reference::relu_forward(r.output.data(), r.output.data(), c.output_shape.count());
    reference::relu_backward(dy.data(), dy.data(), r.output.data(), c.output_shape.count());
  }
  r.input_grads.emplace_back(c.inputs[0].values.size());
  reference::conv2d_backward_data(r.input_grads[0].data(), dy.data(), c.parameters[0].data(), s);
  for (const auto& parameter : c.parameters) r.parameter_grads.emplace_back(parameter.size());
  reference::conv2d_backward_weights(r.parameter_grads[0].data(),
                                     op.bias ? r.parameter_grads[1].data() : nullptr,
                                     c.inputs[0].values.data(), dy.data(), s);
  return r;
}

void expect_reference(const OpResult& actual, const OpResult& expected) {
  expect_close(actual.output, expected.output, kTolerance, "output");
  if (!actual.input_grads.empty() && !actual.input_grads[0].empty())
    expect_close(actual.input_grads[0], expected.input_grads[0], kTolerance, "input gradient");
  for (std::size_t i = 0; i < actual.parameter_grads.size(); ++i)
    expect_close(actual.parameter_grads[i], expected.parameter_grads[i], kTolerance,
                 "gradient of parameter " + std::to_string(i));
}

std::vector<Conv2dShape> shapes() {
  std::vector<Conv2dShape> all = {{2, 8, 8, 3, 16, 3, 3, 1, 1, 1, 1},  {1, 9, 9, 3, 17, 7, 7, 2, 2, 3, 3},
                                  {3, 9, 7, 1, 5, 5, 3, 2, 1, 0, 2},   {2, 8, 8, 16, 16, 3, 3, 1, 1, 1, 1},
                                  {2, 8, 8, 16, 32, 3, 3, 2, 2, 1, 1}, {2, 8, 8, 16, 32, 1, 1, 2, 2, 0, 0},
                                  {1, 7, 7, 32, 64, 1, 1, 1, 1, 0, 0}, {3, 1, 1, 17, 3, 1, 1, 1, 1, 0, 0},
                                  {1, 2, 3, 5, 17, 3, 5, 1, 2, 3, 2},  {1, 14, 14, 64, 48, 3, 3, 1, 1, 1, 1},
                                  {4, 9, 9, 6, 16, 5, 5, 1, 1, 0, 0},  {1, 5, 5, 4, 8, 1, 1, 1, 1, 3, 1}};
  for (std::int64_t in : {1, 3, 5, 16, 17})
    for (std::int64_t out : {1, 5, 16, 17})
      for (std::int64_t kernel : {1, 3, 5, 7})
        for (std::int64_t stride : {1, 2}) {
          const std::int64_t size = 4 + (in + out + kernel) % 6, pad = std::min<std::int64_t>(kernel / 2, 3);
          all.push_back({1 + (in + kernel + stride) % 3, size, size - 1, in, out, kernel, kernel, stride,
                         3 - stride, pad, kernel > 1 ? pad - stride % 2 : 0});
        }
  std::erase_if(all, [](const Conv2dShape& s) {
    return s.in_h + 2 * s.pad_h < s.kernel_h || s.in_w + 2 * s.pad_w < s.kernel_w;
  });
  return all;
}

std::string describe(const Conv2dShape& s) {
  return input_shape(s).text() + " to " + output_shape(s).text() + " kernel " + std::to_string(s.kernel_h) +
         "x" + std::to_string(s.kernel_w);
}

TEST(CpuConvolution, AgreesWithTheReferenceInEveryShape) {
  const auto device = make_cpu_device({1});
  int variant = 0;
  for (const Conv2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    const bool bias = variant % 2 == 0, relu = variant / 2 % 2 == 0;
    ++variant;
    for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
      const OpCase c = make_case(s, bias, relu, arrangement);
      expect_reference(run_op(*device, c), reference_result(s, c));
    }
  }
}

TEST(CpuConvolution, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  for (const Conv2dShape& s :
       {Conv2dShape{2, 4, 3, 3, 2, 3, 3, 2, 1, 1, 1}, Conv2dShape{1, 3, 3, 2, 3, 1, 1, 1, 1, 0, 0}})
    for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred})
      testing::expect_gradients_match_differences(*device, make_case(s, true, false, arrangement), 2, 0.05,
                                                  1e-4);
}

TEST(CpuConvolution, InferenceGivesTheOutputOfTraining) {
  const auto device = make_cpu_device({1});
  for (const Conv2dShape& s :
       {Conv2dShape{3, 8, 8, 3, 16, 3, 3, 1, 1, 1, 1}, Conv2dShape{2, 6, 6, 17, 5, 3, 3, 2, 2, 1, 1}}) {
    OpCase c = make_case(s, true, true, Arrangement::preferred);
    c.training = false;
    const OpResult result = run_op(*device, c);
    expect_close(result.output, reference_result(s, c).output, kTolerance, "output");
    EXPECT_EQ(result.facts.saved_bytes, 0U);
  }
}

TEST(CpuConvolution, FusedReluEqualsConvolutionThenRelu) {
  const auto device = make_cpu_device({1});
  const Conv2dShape s{2, 8, 8, 16, 17, 3, 3, 1, 1, 1, 1};
  const OpCase fused = make_case(s, true, true, Arrangement::preferred);
  OpCase convolution = make_case(s, true, false, Arrangement::preferred);
  OpCase relu;
  relu.op = ReluOp{};
  relu.inputs = {{output_shape(s), run_op(*device, convolution).output, Arrangement::preferred}};
  relu.output_shape = output_shape(s);
  relu.output_grad = fused.output_grad;
  const OpResult activated = run_op(*device, relu);
  convolution.output_grad = activated.input_grads[0];
  OpResult chained = run_op(*device, convolution);
  chained.output = activated.output;
  expect_reference(run_op(*device, fused), chained);
}

TEST(CpuConvolution, AccumulatesGradients) {
  const auto device = make_cpu_device({1});
  for (const Conv2dShape& s :
       {Conv2dShape{2, 6, 6, 3, 5, 3, 3, 1, 1, 1, 1}, Conv2dShape{2, 6, 6, 16, 17, 3, 3, 2, 2, 1, 1}}) {
    OpCase c = make_case(s, true, false, Arrangement::preferred);
    const OpResult written = run_op(*device, c);
    c.prior_gradients = {random_values<float>(static_cast<std::int64_t>(c.parameters[0].size()), 7),
                         random_values<float>(s.out_channels, 8)};
    const OpResult added = run_op(*device, c);
    for (std::size_t p = 0; p < 2; ++p) {
      std::vector<float> expected = written.parameter_grads[p];
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += c.prior_gradients[p][i];
      expect_close(added.parameter_grads[p], expected, 1e-7, "parameter " + std::to_string(p));
    }
  }
}

TEST(CpuConvolution, LeavesOutTheInputGradientThatNobodyWants) {
  const auto device = make_cpu_device({1});
  const Conv2dShape s{2, 8, 8, 3, 16, 3, 3, 1, 1, 1, 1};
  OpCase c = make_case(s, false, true, Arrangement::dense);
  c.inputs[0].wants_gradient = false;
  expect_reference(run_op(*device, c), reference_result(s, c));
}

TEST(CpuConvolution, GivesTheSameBitsAgainAndTheSameNumbersWithMoreThreads) {
  const Conv2dShape s{3, 9, 9, 16, 17, 3, 3, 1, 1, 1, 1};
  const OpCase c = make_case(s, true, true, Arrangement::preferred);
  for (const int threads : {1, 2, 3, 8}) {
    const auto device = make_cpu_device({threads});
    const OpResult first = run_op(*device, c);
    expect_reference(first, reference_result(s, c));
    testing::expect_same_bits(first, run_op(*device, c), std::to_string(threads) + " threads");
  }
}

TEST(CpuConvolution, GivesASampleTheSameBitsWhereverItStandsInTheBatch) {
  const auto device = make_cpu_device({2});
  const Conv2dShape s{5, 8, 8, 16, 17, 3, 3, 1, 1, 1, 1};
  OpCase c = make_case(s, true, true, Arrangement::preferred);
  c.training = false;
  std::vector<float> output = run_op(*device, c).output;
  std::rotate(output.begin(), output.begin() + 8 * 8 * 17, output.end());
  std::rotate(c.inputs[0].values.begin(), c.inputs[0].values.begin() + 8 * 8 * 16, c.inputs[0].values.end());
  EXPECT_EQ(output, run_op(*device, c).output);
}

}  // namespace
}  // namespace trireme
