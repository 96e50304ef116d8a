// SPDX-License-Identifier: Apache-2.0
#include "tests/src/device/cuda/batch_norm_cases.h"

#include "kernels/reference/batch_norm.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

using Doubles = std::vector<double>;

Doubles widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Zero where a ReLU made the value and it is not positive.
void cut(Doubles& gradient, const CudaInput& input) {
  for (std::size_t i = 0; input.after_relu && i < gradient.size(); ++i)
    if (!(input.values[i] > 0)) gradient[i] = 0;
}

}  // namespace

CudaCase batch_norm_case(Precision precision, const Shape& shape, const BatchNormOp& op) {
  CudaCase c;
  c.precision = precision;
  const auto numbers = [&](std::uint32_t seed, float scale, float shift) {
    std::vector<float> values = random_values<float>(shape.count(), seed);
    for (float& x : values) x = scale * x + shift;
    return rounded(std::move(values), element_of(precision));
  };
  c.op = op;
  c.inputs = {{shape, numbers(1, 3, 1)}};
  if (op.residual) c.inputs.push_back({shape, numbers(7, 2, 0)});
  c.output_shape = shape;
  for (std::uint32_t p = 0; p < 4; ++p) c.parameters.push_back(random_values<float>(shape[3], 2 + p));
  for (float& variance : c.parameters[3]) variance += 1.5F;
  c.output_grad = numbers(6, 1, 0);
  c.context.share_weight = 0.25F;
  return c;
}

BatchNormExpected batch_norm_reference(const CudaCase& c, const std::vector<float>& output) {
  const auto& op = std::get<BatchNormOp>(c.op);
  const std::int64_t channels = c.output_shape[3], values = c.output_shape.count() / channels;
  const reference::BatchNormShape s{values, channels, op.epsilon};
  const Doubles x = widened(c.inputs[0].values), scale = widened(c.parameters[0]),
                shift = widened(c.parameters[1]);
  BatchNormExpected e;
  e.output.resize(x.size());
  e.input_grad.resize(x.size());
  e.parameter_grads.assign(4, Doubles(static_cast<std::size_t>(channels)));
  Doubles &mean = e.parameter_grads[2], &variance = e.parameter_grads[3];
  if (c.training)
    reference::batch_norm_forward_training(e.output.data(), mean.data(), variance.data(), x.data(),
                                           scale.data(), shift.data(), s);
  else
    reference::batch_norm_forward_inference(e.output.data(), x.data(), scale.data(), shift.data(),
                                            widened(c.parameters[2]).data(), widened(c.parameters[3]).data(),
                                            s);
  for (std::size_t i = 0; i < e.output.size(); ++i) {
    if (op.residual) e.output[i] += static_cast<double>(c.inputs[1].values[i]);
    if (op.relu) e.output[i] = std::max(e.output[i], 0.0);
  }
  if (!c.training) return e;
  Doubles dy = widened(c.output_grad);
  for (std::size_t i = 0; op.relu && i < dy.size(); ++i)
    if (!(output[i] > 0)) dy[i] = 0;
  e.residual_grad = dy;
  reference::batch_norm_backward(e.input_grad.data(), e.parameter_grads[0].data(),
                                 e.parameter_grads[1].data(), dy.data(), x.data(), scale.data(), mean.data(),
                                 variance.data(), s);
  cut(e.input_grad, c.inputs[0]);
  if (op.residual) cut(e.residual_grad, c.inputs[1]);
  const double share = static_cast<double>(c.context.share_weight);
  for (double& m : mean) m *= share;
  for (double& v : variance) v *= share * static_cast<double>(values) / static_cast<double>(values - 1);
  return e;
}

void expect_batch_norm(const CudaCase& c, const CudaResult& actual) {
  const BatchNormExpected expected = batch_norm_reference(c, actual.output);
  const double rounding = unit_of(c.precision) + 1e-5;
  expect_close(actual.output, expected.output, rounding, "output");
  if (!c.training) return;
  if (c.inputs[0].wants_gradient)
    expect_close(actual.input_grads[0], expected.input_grad, rounding, "input gradient");
  if (c.inputs.size() > 1 && c.inputs[1].wants_gradient)
    expect_close(actual.input_grads[1], expected.residual_grad, rounding, "the residual's gradient");
  for (std::size_t p = 0; p < expected.parameter_grads.size(); ++p) {
    std::vector<double> gradient = expected.parameter_grads[p];
    for (std::size_t i = 0; !c.prior_gradients.empty() && i < gradient.size(); ++i)
      gradient[i] += static_cast<double>(c.prior_gradients[p][i]);
    expect_close(actual.parameter_grads[p], gradient, 2e-5, "parameter " + std::to_string(p));
  }
}

}  // namespace trireme::testing
