// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "kernels/reference/pool2d.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::AdaptiveAvgPoolShape;
using reference::PoolShape;
using testing::Arrangement;
using testing::expect_close;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

constexpr Arrangement kArrangements[] = {Arrangement::dense, Arrangement::preferred};

OpCase max_pool_case(const PoolShape& s, Arrangement arrangement) {
  OpCase c;
  c.op = MaxPoolOp{s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.pad_h, s.pad_w};
  const Shape input{s.batch, s.in_h, s.in_w, s.channels};
  c.inputs = {{input, random_values<float>(input.count(), 1), arrangement}};
  c.output_shape = {s.batch, s.out_h(), s.out_w(), s.channels};
  c.output_grad = random_values<float>(c.output_shape.count(), 2);
  return c;
}

void expect_reference(const OpResult& result, const OpCase& c, const PoolShape& s) {
  std::vector<float> y(c.output_grad.size()), dx(c.inputs[0].values.size());
  std::vector<std::int64_t> places(y.size());
  reference::max_pool_forward(y.data(), places.data(), c.inputs[0].values.data(), s);
  EXPECT_EQ(result.output, y);
  reference::max_pool_backward(dx.data(), c.output_grad.data(), places.data(), s);
  if (c.training) expect_close(result.input_grads[0], dx, 1e-6, "input gradient");
}

std::vector<PoolShape> max_pool_shapes() {
  std::vector<PoolShape> all = {{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {2, 16, 16, 64, 3, 3, 2, 2, 1, 1}};
  for (std::int64_t channels : {1, 3, 5, 16, 17})
    for (std::int64_t size : {3, 4, 7, 8, 9})
      for (std::int64_t kernel : {2, 3})
        for (std::int64_t stride : {1, 2})
          all.push_back({1 + size % 3, size, size + 1, channels, kernel, 5 - kernel, stride, 3 - stride,
                         (size + stride) % 2, (size + kernel) % 2});
  return all;
}

TEST(CpuMaxPool, AgreesWithTheReferenceInEveryShape) {
  const auto device = make_cpu_device({1});
  for (const PoolShape& s : max_pool_shapes())
    for (const Arrangement arrangement : kArrangements) {
      OpCase c = max_pool_case(s, arrangement);
      SCOPED_TRACE(c.inputs[0].shape.text() + " to " + c.output_shape.text());
      expect_reference(run_op(*device, c), c, s);
      c.training = false;
      expect_reference(run_op(*device, c), c, s);
    }
}

TEST(CpuMaxPool, GivesTheGradientOfEqualValuesToTheFirst) {
  const auto device = make_cpu_device({2});
  for (const std::int64_t channels : {1, 5, 16, 17})
    for (const Arrangement arrangement : kArrangements) {
      const PoolShape s{2, 8, 9, channels, 3, 3, 2, 2, 1, 1};
      OpCase c = max_pool_case(s, arrangement);
      for (float& x : c.inputs[0].values) x = x < 0.5F ? 0.0F : 1.0F;
      expect_reference(run_op(*device, c), c, s);
    }
}

TEST(CpuMaxPool, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  OpCase c = max_pool_case({1, 5, 4, 3, 3, 2, 2, 1, 1, 0}, Arrangement::preferred);
  // Distinct values a step of 0.1 apart, so that no difference changes the order.
  std::iota(c.inputs[0].values.begin(), c.inputs[0].values.end(), 0.0F);
  std::shuffle(c.inputs[0].values.begin(), c.inputs[0].values.end(), std::mt19937(3));
  for (float& x : c.inputs[0].values) x *= 0.1F;
  testing::expect_gradients_match_differences(*device, c, 0, 0.02, 1e-3);
}

OpCase average_case(const AdaptiveAvgPoolShape& s, Arrangement arrangement) {
  OpCase c;
  c.op = AdaptiveAvgPoolOp{s.out_h, s.out_w};
  const Shape input{s.batch, s.in_h, s.in_w, s.channels};
  c.inputs = {{input, random_values<float>(input.count(), 1), arrangement}};
  c.output_shape = {s.batch, s.out_h, s.out_w, s.channels};
  c.output_grad = random_values<float>(c.output_shape.count(), 2);
  return c;
}

std::vector<AdaptiveAvgPoolShape> average_shapes() {
  std::vector<AdaptiveAvgPoolShape> all;
  for (std::int64_t channels : {1, 3, 5, 16, 17}) {
    const std::int64_t batch = channels % 3 + 1;
    all.push_back({batch, 8, 8, channels, 1, 1});  // global
    all.push_back({batch, 5, 7, channels, 1, 1});  // global, odd
    all.push_back({batch, 6, 9, channels, 3, 3});  // divides
    all.push_back({batch, 7, 7, channels, 7, 7});  // equal
    all.push_back({batch, 9, 8, channels, 7, 3});  // windows overlap
    all.push_back({batch, 2, 3, channels, 7, 7});  // larger than the input
    all.push_back({batch, 1, 1, channels, 1, 1});
  }
  return all;
}

TEST(CpuAdaptiveAvgPool, AgreesWithTheReferenceInEveryShape) {
  const auto device = make_cpu_device({2});
  for (const AdaptiveAvgPoolShape& s : average_shapes())
    for (const Arrangement arrangement : kArrangements)
      for (const bool in_place : {false, true}) {
        OpCase c = average_case(s, arrangement);
        c.in_place = in_place;
        SCOPED_TRACE(c.inputs[0].shape.text() + " to " + c.output_shape.text());
        std::vector<float> y(c.output_grad.size()), dx(c.inputs[0].values.size());
        reference::adaptive_avg_pool_forward(y.data(), c.inputs[0].values.data(), s);
        reference::adaptive_avg_pool_backward(dx.data(), c.output_grad.data(), s);
        const OpResult result = run_op(*device, c);
        expect_close(result.output, y, 1e-6, "output");
        expect_close(result.input_grads[0], dx, 1e-6, "input gradient");
        c.training = false;
        EXPECT_EQ(run_op(*device, c).output, result.output);
      }
}

TEST(CpuAdaptiveAvgPool, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  for (const AdaptiveAvgPoolShape& s :
       {AdaptiveAvgPoolShape{2, 4, 4, 3, 1, 1}, AdaptiveAvgPoolShape{1, 5, 4, 3, 3, 3}})
    testing::expect_gradients_match_differences(*device, average_case(s, Arrangement::preferred), 0, 0.1,
                                                1e-4);
}

}  // namespace
}  // namespace trireme
