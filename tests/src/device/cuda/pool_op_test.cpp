// SPDX-License-Identifier: Apache-2.0
// Max and adaptive average pooling against the reference.
#include "kernels/reference/pool2d.h"

#include "src/core/error.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"

namespace trireme::testing {
namespace {

using Doubles = std::vector<double>;

class PoolOpTest : public CudaOpTest {
 protected:
  CudaCase case_of(const OpAttributes& op, const Shape& x, std::int64_t out_h, std::int64_t out_w) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = op;
    c.inputs = {{x, numbers(x.count(), 1)}};
    c.output_shape = {x[0], out_h, out_w, x[3]};
    c.output_grad = numbers(c.output_shape.count(), 2);
    return c;
  }
  CudaCase max_case(const Shape& x, const MaxPoolOp& op) const {
    return case_of(op, x, (x[1] + 2 * op.pad_h - op.kernel_h) / op.stride_h + 1,
                   (x[2] + 2 * op.pad_w - op.kernel_w) / op.stride_w + 1);
  }
  CudaCase average_case(const Shape& x, std::int64_t out_h, std::int64_t out_w) const {
    return case_of(AdaptiveAvgPoolOp{out_h, out_w}, x, out_h, out_w);
  }

  void check(const CudaCase& c) {
    SCOPED_TRACE(c.inputs[0].shape.text() + " to " + c.output_shape.text());
    const CudaResult result = run_op(device(), c);
    Doubles y(static_cast<std::size_t>(c.output_shape.count())),
        dx(static_cast<std::size_t>(c.inputs[0].shape.count()));
    reference(c, y, dx);
    expect_close(result.output, y, unit() + 1e-6, "output");
    if (!c.training) return;
    if (c.inputs[0].after_relu)
      for (std::size_t i = 0; i < dx.size(); ++i)
        if (!(c.inputs[0].values[i] > 0)) dx[i] = 0;
    expect_close(result.input_grads[0], dx, unit() + 1e-6, "input gradient");
    for (std::size_t i = 0; i < dx.size(); ++i)
      ASSERT_EQ(result.input_grads[0][i] == 0, dx[i] == 0) << "element " << i << " of the input gradient";
  }

  static void reference(const CudaCase& c, Doubles& y, Doubles& dx) {
    const Shape& s = c.inputs[0].shape;
    const Doubles x = widened(c.inputs[0].values), dy = widened(c.output_grad);
    if (const auto* max = std::get_if<MaxPoolOp>(&c.op)) {
      const reference::PoolShape shape{s[0],          s[1],          s[2],          s[3],       max->kernel_h,
                                       max->kernel_w, max->stride_h, max->stride_w, max->pad_h, max->pad_w};
      std::vector<std::int64_t> places(y.size());
      reference::max_pool_forward(y.data(), places.data(), x.data(), shape);
      reference::max_pool_backward(dx.data(), dy.data(), places.data(), shape);
    } else {
      const reference::AdaptiveAvgPoolShape shape{
          s[0], s[1], s[2], s[3], c.output_shape[1], c.output_shape[2]};
      reference::adaptive_avg_pool_forward(y.data(), x.data(), shape);
      reference::adaptive_avg_pool_backward(dx.data(), dy.data(), shape);
    }
  }

  void make_after_relu(CudaCase& c) const {
    c.inputs[0].after_relu = true;
    c.inputs[0].values = numbers_after_relu(c.inputs[0].shape.count(), 1);
  }
};

constexpr MaxPoolOp kHalve{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
constexpr MaxPoolOp kOverlapping{
    .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};
constexpr MaxPoolOp kUneven{.kernel_h = 2, .kernel_w = 3, .stride_h = 1, .stride_w = 2, .pad_w = 1};

TEST_P(PoolOpTest, LargestOfEachWindow) {
  for (const MaxPoolOp& op : {kHalve, kOverlapping, kUneven}) {
    check(max_case({2, 8, 8, 16}, op));
    check(max_case({3, 7, 9, 5}, op));
  }
}

TEST_P(PoolOpTest, LargestOverAReluCutsItsGradientAndNeedsNoneItself) {
  for (const MaxPoolOp& op : {kHalve, kOverlapping, kUneven}) {
    CudaCase c = max_case({2, 7, 9, 5}, op);
    make_after_relu(c);
    check(c);
    const OpFacts facts = run_op(device(), c).facts;
    EXPECT_FALSE(layout_of(facts.output).after_relu);
    EXPECT_FALSE(facts.backward_needs_inputs || facts.backward_needs_output);
  }
}

TEST_P(PoolOpTest, LargestInInferenceKeepsNothing) {
  CudaCase c = max_case({2, 7, 9, 5}, kOverlapping);
  make_after_relu(c);
  c.training = false;
  check(c);
  EXPECT_EQ(run_op(device(), c).facts.saved_bytes, 0U);
}

TEST_P(PoolOpTest, PaddingOfMoreThanHalfAWindowIsRefusedWithTheOpsName) {
  const CudaCase c = max_case({2, 8, 8, 4}, {.kernel_h = 2, .kernel_w = 2, .pad_h = 2, .pad_w = 2});
  try {
    run_op(device(), c);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("max_pool [2,8,8,4]"), std::string::npos) << error.what();
  }
}

TEST_P(PoolOpTest, MeanOfEachWindow) {
  check(average_case({2, 8, 8, 16}, 1, 1));
  check(average_case({2, 7, 5, 3}, 1, 1));
  check(average_case({2, 9, 6, 5}, 3, 2));
  check(average_case({2, 9, 5, 5}, 4, 3));
  check(average_case({2, 1, 2, 7}, 4, 7));  // more windows than pixels
}

TEST_P(PoolOpTest, MeanOverAReluCutsItsGradient) {
  for (const auto& [out_h, out_w] : {std::pair{1, 1}, {4, 3}}) {
    CudaCase c = average_case({2, 9, 5, 5}, out_h, out_w);
    make_after_relu(c);
    check(c);
  }
}

TEST_P(PoolOpTest, MeansOfSinglePixelsAreThePicture) {
  for (const bool in_place : {false, true})
    for (const bool over_relu : {false, true})
      for (const bool training : {true, false}) {
        CudaCase c = average_case({2, 7, 5, 9}, 7, 5);
        if (over_relu) make_after_relu(c);
        if (over_relu) c.output_grad = cut_by(c.inputs[0].values, c.output_grad);
        c.in_place = in_place;
        c.training = training;
        check(c);
        const OpFacts facts = run_op(device(), c).facts;
        EXPECT_TRUE(facts.grads_are_aliases);
        EXPECT_EQ(layout_of(facts.output).after_relu, over_relu);
      }
}

INSTANTIATE_TEST_SUITE_P(All, PoolOpTest, all_elements(), precision_name);

}  // namespace
}  // namespace trireme::testing
