// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/batch_norm.h"

#include <gtest/gtest.h>

#include "kernels/reference/elementwise.h"
#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::Arrangement;
using testing::expect_close;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

constexpr double kTolerance = 5e-6;

OpCase make_case(const Shape& shape, bool relu, Arrangement arrangement) {
  OpCase c;
  c.op = BatchNormOp{1e-3, 0.1, relu};
  c.inputs = {{shape, random_values<float>(shape.count(), 1), arrangement}};
  for (float& x : c.inputs[0].values) x = 3 * x + 1;
  c.output_shape = shape;
  for (std::uint32_t p = 0; p < 4; ++p) c.parameters.push_back(random_values<float>(shape[3], 2 + p));
  for (float& variance : c.parameters[3]) variance += 1.5F;
  c.output_grad = random_values<float>(shape.count(), 6);
  c.context.share_weight = 0.25F;
  return c;
}

OpResult reference_result(const OpCase& c) {
  const auto& op = std::get<BatchNormOp>(c.op);
  const std::int64_t count = c.output_shape.count(), channels = c.output_shape[3], values = count / channels;
  const reference::BatchNormShape s{values, channels, op.epsilon};
  const float *x = c.inputs[0].values.data(), *scale = c.parameters[0].data(),
              *shift = c.parameters[1].data();
  OpResult r;
  r.output.resize(static_cast<std::size_t>(count));
  r.input_grads.emplace_back(static_cast<std::size_t>(count));
  r.parameter_grads.assign(4, std::vector<float>(static_cast<std::size_t>(channels)));
  std::vector<float>&mean = r.parameter_grads[2], &variance = r.parameter_grads[3];
  if (c.training)
    reference::batch_norm_forward_training(r.output.data(), mean.data(), variance.data(), x, scale, shift, s);
  else
    reference::batch_norm_forward_inference(r.output.data(), x, scale, shift, c.parameters[2].data(),
                                            c.parameters[3].data(), s);
  std::vector<float> dy = c.output_grad;
  if (op.relu) {
    reference::relu_forward(r.output.data(), r.output.data(), count);
    reference::relu_backward(dy.data(), dy.data(), r.output.data(), count);
  }
  if (!c.training) return r;
  reference::batch_norm_backward(r.input_grads[0].data(), r.parameter_grads[0].data(),
                                 r.parameter_grads[1].data(), dy.data(), x, scale, mean.data(),
                                 variance.data(), s);
  const double unbiased = static_cast<double>(values) / static_cast<double>(values - 1);
  for (float& m : mean) m *= c.context.share_weight;
  for (float& v : variance)
    v = static_cast<float>(static_cast<double>(v) * unbiased) * c.context.share_weight;
  return r;
}

void expect_reference(const OpResult& actual, const OpResult& expected) {
  expect_close(actual.output, expected.output, kTolerance, "output");
  if (!actual.input_grads.empty() && !actual.input_grads[0].empty())
    expect_close(actual.input_grads[0], expected.input_grads[0], kTolerance, "input gradient");
  for (std::size_t p = 0; p < actual.parameter_grads.size(); ++p)
    expect_close(actual.parameter_grads[p], expected.parameter_grads[p], kTolerance,
                 "gradient of parameter " + std::to_string(p));
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::int64_t channels : {1, 3, 5, 16, 17, 32})
    for (std::int64_t size : {1, 2, 5, 8, 9})
      all.push_back({size == 1 ? 3 : 1 + channels % 3, size, size + 1, channels});
  return all;
}

TEST(CpuBatchNorm, AgreesWithTheReferenceInEveryShape) {
  const auto device = make_cpu_device({1});
  for (const Shape& shape : shapes())
    for (const bool relu : {false, true})
      for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
        SCOPED_TRACE(shape.text() + (relu ? " with ReLU" : ""));
        const OpCase c = make_case(shape, relu, arrangement);
        expect_reference(run_op(*device, c), reference_result(c));
      }
}

TEST(CpuBatchNorm, InferenceUsesTheRunningStatistics) {
  const auto device = make_cpu_device({1});
  for (const Shape& shape : shapes())
    for (const bool in_place : {false, true}) {
      OpCase c = make_case(shape, in_place, Arrangement::preferred);
      c.training = false;
      c.in_place = in_place;
      expect_reference(run_op(*device, c), reference_result(c));
    }
}

TEST(CpuBatchNorm, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred})
    testing::expect_gradients_match_differences(*device, make_case({2, 3, 2, 3}, false, arrangement), 2, 0.02,
                                                1e-3);
}

TEST(CpuBatchNorm, BackwardWorksInPlace) {
  const auto device = make_cpu_device({2});
  for (const bool relu : {false, true}) {
    OpCase c = make_case({3, 9, 8, 17}, relu, Arrangement::preferred);
    const OpResult apart = run_op(*device, c);
    c.in_place = true;
    testing::expect_same_bits(run_op(*device, c), apart, "in place");
  }
}

TEST(CpuBatchNorm, AccumulatesGradientsAndStatistics) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case({2, 5, 5, 17}, true, Arrangement::preferred);
  const OpResult written = run_op(*device, c);
  for (std::uint32_t p = 0; p < 4; ++p) c.prior_gradients.push_back(random_values<float>(17, 20 + p));
  const OpResult added = run_op(*device, c);
  for (std::size_t p = 0; p < 4; ++p) {
    std::vector<float> expected = written.parameter_grads[p];
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += c.prior_gradients[p][i];
    EXPECT_EQ(added.parameter_grads[p], expected) << "parameter " << p;
  }
}

TEST(CpuBatchNorm, GivesParameterGradientsWhereTheInputWantsNone) {
  const auto device = make_cpu_device({1});
  for (const bool relu : {false, true})
    for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
      OpCase c = make_case({3, 4, 5, 17}, relu, arrangement);
      c.inputs[0].wants_gradient = false;
      expect_reference(run_op(*device, c), reference_result(c));
    }
}

TEST(CpuBatchNorm, FusedReluEqualsNormThenRelu) {
  const auto device = make_cpu_device({1});
  const Shape shape{2, 8, 8, 16};
  const OpResult fused = run_op(*device, make_case(shape, true, Arrangement::preferred));
  OpCase norm = make_case(shape, false, Arrangement::preferred);
  OpCase relu;
  relu.op = ReluOp{};
  relu.inputs = {{shape, run_op(*device, norm).output, Arrangement::preferred}};
  relu.output_shape = shape;
  relu.output_grad = norm.output_grad;
  const OpResult activated = run_op(*device, relu);
  norm.output_grad = activated.input_grads[0];
  OpResult chained = run_op(*device, norm);
  chained.output = activated.output;
  expect_reference(fused, chained);
}

TEST(CpuBatchNorm, IsTheSameAgainAndAgreesAtAnyThreadCount) {
  const OpCase c = make_case({5, 9, 9, 17}, true, Arrangement::preferred);
  for (const int threads : {1, 2, 3, 8}) {
    const auto device = make_cpu_device({threads});
    const OpResult first = run_op(*device, c);
    expect_reference(first, reference_result(c));
    testing::expect_same_bits(first, run_op(*device, c), std::to_string(threads) + " threads");
  }
}

TEST(CpuBatchNorm, RefusesOneValuePerChannel) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case({1, 1, 1, 8}, false, Arrangement::dense);
  try {
    run_op(*device, c);
    FAIL() << "one value has no variance";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("[1,1,1,8]"), std::string::npos) << error.what();
  }
  c.training = false;
  EXPECT_EQ(run_op(*device, c).output.size(), 8U);
}

TEST(CpuBatchNorm, RefusesToAverageOverPaddingRows) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case({3, 2, 2, 4}, false, Arrangement::dense);
  c.context.valid_samples = 2;
  EXPECT_THROW(run_op(*device, c), Error);
}

}  // namespace
}  // namespace trireme
