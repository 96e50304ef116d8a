// SPDX-License-Identifier: Apache-2.0
// ReLU and addition, element by element against their definitions.
#include "src/core/error.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"

namespace trireme::testing {
namespace {

class ReluAddOpTest : public CudaOpTest {
 protected:
  static constexpr std::int64_t kFirst = 1, kSecond = 2, kGradient = 3;

  CudaCase relu_case(const Shape& shape) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = ReluOp{};
    c.inputs = {{shape, numbers(shape.count(), kFirst)}};
    c.output_shape = shape;
    c.output_grad = cut_by(c.inputs[0].values, numbers(shape.count(), kGradient));
    return c;
  }

  CudaCase add_case(const Shape& shape, bool relu) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = AddOp{relu};
    c.inputs = {{shape, numbers(shape.count(), kFirst)}, {shape, numbers(shape.count(), kSecond)}};
    c.output_shape = shape;
    c.output_grad = numbers(shape.count(), kGradient);
    return c;
  }

  std::vector<float> sum_of(const CudaCase& c) const {
    std::vector<float> sum = c.inputs[0].values;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += c.inputs[1].values[i];
    if (std::get<AddOp>(c.op).relu)
      for (float& value : sum) value = std::max(value, 0.0F);
    return in_element(sum);
  }

  void check_add(const CudaCase& c) {
    SCOPED_TRACE(c.output_shape.text() + (c.in_place ? " in place" : ""));
    const CudaResult result = run_op(device(), c);
    const std::vector<float> sum = sum_of(c);
    EXPECT_EQ(result.output, sum);
    EXPECT_FALSE(layout_of(result.facts.output).after_relu);
    const std::vector<float> gradient =
        std::get<AddOp>(c.op).relu ? cut_by(sum, c.output_grad) : c.output_grad;
    for (std::size_t i = 0; i < 2; ++i) {
      const CudaInput& input = c.inputs[i];
      if (!input.wants_gradient) continue;
      EXPECT_EQ(result.input_grads[i], input.after_relu ? cut_by(input.values, gradient) : gradient);
    }
  }
};

TEST_P(ReluAddOpTest, ReluIsSaidInTheLayoutAndItsGradientComesCut) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, {3, 13}, {2, 4, 4, 16}})
    for (const bool in_place : {false, true}) {
      CudaCase c = relu_case(shape);
      c.in_place = in_place;
      const CudaResult result = run_op(device(), c);
      std::vector<float> expected = c.inputs[0].values;
      for (float& value : expected) value = std::max(value, 0.0F);
      EXPECT_EQ(result.output, expected);
      EXPECT_TRUE(layout_of(result.facts.output).after_relu);
      EXPECT_EQ(result.input_grads[0], c.output_grad);
    }
}

TEST_P(ReluAddOpTest, ReluInInferenceMayOverwriteItsInput) {
  CudaCase c = relu_case({2, 3, 3, 5});
  c.training = false;
  c.in_place = true;
  const CudaResult result = run_op(device(), c);
  std::vector<float> expected = c.inputs[0].values;
  for (float& value : expected) value = std::max(value, 0.0F);
  EXPECT_EQ(result.output, expected);
}

TEST_P(ReluAddOpTest, AdditionWithAndWithoutRelu) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, {3, 13}, {1, 4, 4, 16}})
    for (const bool relu : {false, true})
      for (const bool in_place : {false, true}) {
        CudaCase c = add_case(shape, relu);
        c.in_place = in_place;
        check_add(c);
        c.inputs[0].wants_gradient = false;
        c.in_place = false;
        check_add(c);
      }
}

TEST_P(ReluAddOpTest, GradientsOfAPlainAdditionAreAliases) {
  CudaCase c = add_case({2, 3, 3, 5}, false);
  OpFacts facts = run_op(device(), c).facts;
  EXPECT_TRUE(facts.grads_are_aliases);
  EXPECT_FALSE(facts.input_grads_differ);
  c.op = AddOp{true};
  facts = run_op(device(), c).facts;
  EXPECT_FALSE(facts.grads_are_aliases);
  EXPECT_FALSE(facts.input_grads_differ);
}

TEST_P(ReluAddOpTest, GradientsAreCutWhereReluMadeTheSummands) {
  for (const bool relu : {false, true})
    for (const bool in_place : {false, true})
      for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {true, true}}) {
        CudaCase c = add_case({2, 3, 5, 7}, relu);
        c.in_place = in_place;
        c.inputs[0].after_relu = first;
        c.inputs[1].after_relu = second;
        if (first) c.inputs[0].values = numbers_after_relu(c.output_shape.count(), kFirst);
        if (second) c.inputs[1].values = numbers_after_relu(c.output_shape.count(), kSecond);
        check_add(c);
        const OpFacts facts = run_op(device(), c).facts;
        EXPECT_FALSE(facts.grads_are_aliases);
        EXPECT_TRUE(facts.input_grads_differ);
      }
}

INSTANTIATE_TEST_SUITE_P(All, ReluAddOpTest, all_elements(), precision_name);

}  // namespace
}  // namespace trireme::testing
