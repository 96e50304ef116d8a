// SPDX-License-Identifier: Apache-2.0
// ReLU, addition, dropout, flatten and the input: ops that move or gate elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/elementwise.h"
#include "kernels/reference/linear.h"
#include "src/core/philox.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme {
namespace {

using testing::Arrangement;
using testing::OpCase;
using testing::OpResult;
using testing::random_values;
using testing::run_op;

const std::vector<Shape> kShapes = {{1, 1, 1, 1},  {3, 2, 5, 3}, {2, 7, 7, 16},
                                    {1, 9, 4, 17}, {4, 33},      {2, 32, 20, 17}};
constexpr Arrangement kArrangements[] = {Arrangement::dense, Arrangement::preferred};

OpCase unary_case(const OpAttributes& op, const Shape& shape, Arrangement arrangement) {
  OpCase c;
  c.op = op;
  c.inputs = {{shape, random_values<float>(shape.count(), 1), arrangement}};
  c.output_shape = shape;
  c.output_grad = random_values<float>(shape.count(), 2);
  return c;
}

TEST(CpuRelu, AgreesWithTheReferenceApartAndInPlace) {
  const auto device = make_cpu_device({2});
  for (const Shape& shape : kShapes)
    for (const Arrangement arrangement : kArrangements)
      for (const bool in_place : {false, true}) {
        OpCase c = unary_case(ReluOp{}, shape, arrangement);
        c.in_place = in_place;
        std::vector<float> y(c.output_grad.size()), dx(y.size());
        reference::relu_forward(y.data(), c.inputs[0].values.data(), shape.count());
        reference::relu_backward(dx.data(), c.output_grad.data(), y.data(), shape.count());
        const OpResult result = run_op(*device, c);
        EXPECT_EQ(result.output, y) << shape.text();
        EXPECT_EQ(result.input_grads[0], dx) << shape.text();
      }
}

TEST(CpuRelu, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  OpCase c = unary_case(ReluOp{}, {2, 3, 3, 3}, Arrangement::dense);
  for (float& x : c.inputs[0].values) x += x < 0 ? -0.1F : 0.1F;  // away from the kink
  testing::expect_gradients_match_differences(*device, c, 0, 0.05, 1e-4);
}

TEST(CpuRelu, HandsNanOn) {
  const auto device = make_cpu_device({1});
  OpCase c = unary_case(ReluOp{}, {2, 20}, Arrangement::dense);
  c.inputs[0].values[7] = std::nanf("1");
  c.training = false;
  EXPECT_TRUE(std::isnan(run_op(*device, c).output[7]));
}

OpCase add_case(const Shape& shape, bool relu, Arrangement first, Arrangement second) {
  OpCase c = unary_case(AddOp{relu}, shape, first);
  c.inputs.push_back({shape, random_values<float>(shape.count(), 3), second});
  return c;
}

TEST(CpuAdd, AgreesWithTheReferenceInEveryLayoutApartAndInPlace) {
  const auto device = make_cpu_device({2});
  for (const Shape& shape : kShapes)
    for (const Arrangement first : kArrangements)
      for (const Arrangement second : kArrangements)
        for (const bool relu : {false, true})
          for (const bool in_place : {false, true}) {
            OpCase c = add_case(shape, relu, first, second);
            c.in_place = in_place;
            std::vector<float> z(c.output_grad.size()), dz = c.output_grad;
            reference::add_forward(z.data(), c.inputs[0].values.data(), c.inputs[1].values.data(),
                                   shape.count());
            if (relu) reference::relu_forward(z.data(), z.data(), shape.count());
            if (relu) reference::relu_backward(dz.data(), dz.data(), z.data(), shape.count());
            const OpResult result = run_op(*device, c);
            EXPECT_EQ(result.output, z) << shape.text();
            EXPECT_EQ(result.input_grads[0], dz) << shape.text();
            EXPECT_EQ(result.input_grads[1], dz) << shape.text();
          }
}

TEST(CpuAdd, GivesOnlyTheGradientsAskedFor) {
  const auto device = make_cpu_device({1});
  for (const std::size_t unwanted : {0U, 1U})
    for (const bool relu : {false, true}) {
      OpCase c = add_case({2, 4, 4, 16}, relu, Arrangement::preferred, Arrangement::dense);
      const OpResult both = run_op(*device, c);
      c.inputs[unwanted].wants_gradient = false;
      EXPECT_EQ(run_op(*device, c).input_grads[1 - unwanted], both.input_grads[1 - unwanted]);
    }
}

TEST(CpuAdd, SaysThatGradientsAreAliasesOnlyWithoutReluAndInOneLayout) {
  const auto device = make_cpu_device({1});
  const auto aliases = [&](bool relu, Arrangement second) {
    return run_op(*device, add_case({2, 4, 4, 16}, relu, Arrangement::preferred, second))
        .facts.grads_are_aliases;
  };
  EXPECT_TRUE(aliases(false, Arrangement::preferred));
  EXPECT_FALSE(aliases(true, Arrangement::preferred));
  EXPECT_FALSE(aliases(false, Arrangement::dense));
}

/// Keep flags of the whole batch in NHWC order, by the rule that DropoutOp states.
std::vector<std::uint8_t> expected_mask(const OpCase& c) {
  const auto& op = std::get<DropoutOp>(c.op);
  const Shape& s = c.output_shape;
  const bool pictures = s.rank() == 4;
  const std::int64_t height = pictures ? s[1] : 1, width = pictures ? s[2] : 1,
                     channels = pictures ? s[3] : s[1];
  std::vector<std::uint8_t> keep;
  for (std::int64_t n = 0; n < s[0]; ++n) {
    const Philox random(c.context.seed, static_cast<std::uint16_t>(256 + op.ordinal), c.context.epoch,
                        static_cast<std::uint64_t>(c.context.sample_ids[n]));
    for (std::int64_t h = 0; h < height; ++h)
      for (std::int64_t w = 0; w < width; ++w)
        for (std::int64_t k = 0; k < channels; ++k) {
          const auto i = static_cast<std::uint32_t>((k * height + h) * width + w);
          const double u = static_cast<double>(random.block(i / 4)[i % 4] >> 8) * 0x1p-24;
          keep.push_back(u >= op.probability ? 1 : 0);
        }
  }
  return keep;
}

constexpr std::int64_t kSampleIds[] = {41, 7, 123456789012, 3, 0};

OpCase dropout_case(const Shape& shape, Arrangement arrangement) {
  OpCase c = unary_case(DropoutOp{0.3, 2}, shape, arrangement);
  c.context.seed = 99, c.context.epoch = 4, c.context.sample_ids = kSampleIds;
  return c;
}

TEST(CpuDropout, DrawsTheMaskBySampleAndElement) {
  const auto device = make_cpu_device({2});
  for (const Shape& shape : kShapes)
    for (const Arrangement arrangement : kArrangements)
      for (const bool in_place : {false, true}) {
        OpCase c = dropout_case(shape, arrangement);
        c.in_place = in_place;
        const std::vector<std::uint8_t> keep = expected_mask(c);
        std::vector<float> y(keep.size()), dx(keep.size());
        reference::dropout(y.data(), c.inputs[0].values.data(), keep.data(), 0.3, shape.count());
        reference::dropout(dx.data(), c.output_grad.data(), keep.data(), 0.3, shape.count());
        const OpResult result = run_op(*device, c);
        testing::expect_close(result.output, y, 1e-7, shape.text());
        testing::expect_close(result.input_grads[0], dx, 1e-7, shape.text());
      }
}

TEST(CpuDropout, KeepsTheExpectedShare) {
  const auto device = make_cpu_device({1});
  OpCase c = dropout_case({4, 5000}, Arrangement::dense);
  const std::vector<float> y = run_op(*device, c).output;
  const auto kept = std::count_if(y.begin(), y.end(), [](float value) { return value != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / 20000, 0.7, 0.015);
}

TEST(CpuDropout, IsTheIdentityInInference) {
  const auto device = make_cpu_device({1});
  for (const bool in_place : {false, true}) {
    OpCase c = dropout_case({3, 4, 4, 17}, Arrangement::preferred);
    c.training = false;
    c.in_place = in_place;
    EXPECT_EQ(run_op(*device, c).output, c.inputs[0].values);
  }
}

TEST(CpuDropout, AgreesWithFiniteDifferences) {
  const auto device = make_cpu_device({1});
  testing::expect_gradients_match_differences(*device, dropout_case({2, 3, 2, 5}, Arrangement::preferred), 0,
                                              0.1, 1e-5);
}

TEST(CpuFlatten, OrdersFeaturesAsTheReferenceDoes) {
  const auto device = make_cpu_device({1});
  for (const Shape& s : kShapes) {
    if (s.rank() != 4) continue;
    for (const Arrangement arrangement : kArrangements) {
      OpCase c = unary_case(FlattenOp{}, s, arrangement);
      c.output_shape = {s[0], s[1] * s[2] * s[3]};
      std::vector<float> y(c.output_grad.size()), dx(y.size());
      reference::flatten_forward(y.data(), c.inputs[0].values.data(), s[0], s[1], s[2], s[3]);
      reference::flatten_backward(dx.data(), c.output_grad.data(), s[0], s[1], s[2], s[3]);
      const OpResult result = run_op(*device, c);
      EXPECT_EQ(result.output, y) << s.text();
      EXPECT_EQ(result.input_grads[0], dx) << s.text();
    }
  }
}

TEST(CpuInput, TakesTheImagesOfEachStepsSlot) {
  const auto device = make_cpu_device({1});
  for (const Shape& shape : {Shape{2, 5, 6, 3}, Shape{3, 4, 4, 1}, Shape{1, 3, 3, 17}})
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      const std::vector<float> images = random_values<float>(shape.count(), slot);
      OpCase c;
      c.op = InputOp{};
      c.output_shape = shape;
      c.output_grad.resize(images.size());
      c.context.images = images.data();
      EXPECT_EQ(run_op(*device, c).output, images);
    }
}

}  // namespace
}  // namespace trireme
