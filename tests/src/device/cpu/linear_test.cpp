// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear.h"

#include <gtest/gtest.h>

#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::LinearShape;
using testing::expect_close;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

OpCase make_case(const LinearShape& s, bool bias) {
  OpCase c;
  c.op = LinearOp{s.out, bias};
  c.inputs = {{Shape{s.batch, s.in}, random_values<float>(s.batch * s.in, 1)}};
  c.output_shape = {s.batch, s.out};
  c.parameters = {random_values<float>(s.in * s.out, 2)};
  if (bias) c.parameters.push_back(random_values<float>(s.out, 3));
  c.output_grad = random_values<float>(s.batch * s.out, 4);
  return c;
}

void expect_reference(const OpResult& result, const OpCase& c, const LinearShape& s) {
  const bool bias = c.parameters.size() > 1;
  const float *x = c.inputs[0].values.data(), *w = c.parameters[0].data(), *dy = c.output_grad.data();
  std::vector<float> y(c.output_grad.size()), dx(c.inputs[0].values.size()), dw(c.parameters[0].size()),
      db(static_cast<std::size_t>(s.out));
  reference::linear_forward(y.data(), x, w, bias ? c.parameters[1].data() : nullptr, s);
  reference::linear_backward_data(dx.data(), dy, w, s);
  reference::linear_backward_weights(dw.data(), db.data(), x, dy, s);
  expect_close(result.output, y, 2e-6, "output");
  expect_close(result.input_grads[0], dx, 2e-6, "input gradient");
  expect_close(result.parameter_grads[0], dw, 2e-6, "weight gradient");
  if (bias) expect_close(result.parameter_grads[1], db, 2e-6, "bias gradient");
}

TEST(CpuLinear, AgreesWithTheReferenceInEveryShape) {
  for (const int threads : {1, 3}) {
    const auto device = make_cpu_device({threads});
    for (std::int64_t batch : {1, 3, 16})
      for (std::int64_t in : {1, 5, 17, 400})
        for (std::int64_t out : {1, 10, 17, 120})
          for (const bool bias : {false, true}) {
            const LinearShape s{batch, in, out};
            const OpCase c = make_case(s, bias);
            SCOPED_TRACE(c.inputs[0].shape.text() + " to " + c.output_shape.text());
            expect_reference(run_op(*device, c), c, s);
          }
  }
}

TEST(CpuLinear, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  testing::expect_gradients_match_differences(*device, make_case({3, 5, 4}, true), 2, 0.1, 1e-4);
}

TEST(CpuLinear, AccumulatesGradients) {
  const auto device = make_cpu_device({1});
  OpCase c = make_case({5, 17, 10}, true);
  const OpResult written = run_op(*device, c);
  c.prior_gradients = {random_values<float>(170, 8), random_values<float>(10, 9)};
  const OpResult added = run_op(*device, c);
  for (std::size_t p = 0; p < 2; ++p) {
    std::vector<float> expected = written.parameter_grads[p];
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += c.prior_gradients[p][i];
    expect_close(added.parameter_grads[p], expected, 5e-7, "parameter " + std::to_string(p));
  }
}

TEST(CpuLinear, GivesASampleTheSameBitsWhereverItStandsInTheBatch) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device({threads});
    OpCase c = make_case({53, 64, 10}, true);
    c.training = false;
    std::vector<float> output = run_op(*device, c).output;
    std::rotate(output.begin(), output.begin() + 10 * 7, output.end());
    std::rotate(c.inputs[0].values.begin(), c.inputs[0].values.begin() + 64 * 7, c.inputs[0].values.end());
    EXPECT_EQ(output, run_op(*device, c).output);
  }
}

TEST(CpuLinear, IsTheSameAgain) {
  const auto device = make_cpu_device({3});
  const OpCase c = make_case({16, 400, 120}, true);
  testing::expect_same_bits(run_op(*device, c), run_op(*device, c), "again");
}

}  // namespace
}  // namespace trireme
