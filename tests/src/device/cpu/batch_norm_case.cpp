// SPDX-License-Identifier: Apache-2.0
#include "tests/src/device/cpu/batch_norm_case.h"

#include <gtest/gtest.h>

#include "kernels/reference/batch_norm.h"
#include "kernels/reference/elementwise.h"

namespace trireme::testing {
namespace {

constexpr double kTolerance = 5e-6;

}  // namespace

OpCase batch_norm_case(const Shape& shape, const BatchNormOp& op, Arrangement arrangement) {
  OpCase c;
  c.op = op;
  c.inputs = {{shape, random_values<float>(shape.count(), 1), arrangement}};
  for (float& x : c.inputs[0].values) x = 3 * x + 1;
  c.output_shape = shape;
  for (std::uint32_t p = 0; p < 4; ++p) c.parameters.push_back(random_values<float>(shape[3], 2 + p));
  for (float& variance : c.parameters[3]) variance += 1.5F;
  c.output_grad = random_values<float>(shape.count(), 6);
  c.context.share_weight = 0.25F;
  return c;
}

OpResult batch_norm_reference(const OpCase& c) {
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

void expect_batch_norm(const OpResult& actual, const OpResult& expected) {
  expect_close(actual.output, expected.output, kTolerance, "output");
  if (!actual.input_grads.empty() && !actual.input_grads[0].empty())
    expect_close(actual.input_grads[0], expected.input_grads[0], kTolerance, "input gradient");
  for (std::size_t p = 0; p < actual.parameter_grads.size(); ++p)
    expect_close(actual.parameter_grads[p], expected.parameter_grads[p], kTolerance,
                 "gradient of parameter " + std::to_string(p));
}

void expect_works_in_place(Device& device, OpCase op_case) {
  const OpResult apart = run_op(device, op_case);
  op_case.in_place = true;
  expect_same_bits(run_op(device, op_case), apart, "in place");
}

void expect_accumulates(Device& device, OpCase op_case) {
  const OpResult written = run_op(device, op_case);
  for (std::uint32_t p = 0; p < 4; ++p)
    op_case.prior_gradients.push_back(random_values<float>(std::ssize(written.parameter_grads[p]), 20 + p));
  const OpResult added = run_op(device, op_case);
  for (std::size_t p = 0; p < 4; ++p) {
    std::vector<float> expected = written.parameter_grads[p];
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += op_case.prior_gradients[p][i];
    EXPECT_EQ(added.parameter_grads[p], expected) << "parameter " << p;
  }
}

std::vector<Shape> batch_norm_shapes() {
  std::vector<Shape> all;
  for (std::int64_t channels : {1, 3, 5, 16, 17, 32})
    for (std::int64_t size : {1, 2, 5, 8, 9})
      all.push_back({size == 1 ? 3 : 1 + channels % 3, size, size + 1, channels});
  return all;
}

}  // namespace trireme::testing
