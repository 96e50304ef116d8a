// SPDX-License-Identifier: Apache-2.0
// Batch norms of the CUDA device against the reference, alone and behind a convolution that leaves
// statistics.
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "tests/src/device/cuda/batch_norm_cases.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

class BatchNormOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  CudaCase norm_case(const Shape& shape, const BatchNormOp& op) const {
    return batch_norm_case(GetParam(), shape, op);
  }
  CudaResult check(const CudaCase& c) {
    SCOPED_TRACE(text_of(GetParam()) + " " + c.output_shape.text());
    CudaResult result = run_op(*device_, c);
    expect_batch_norm(c, result);
    return result;
  }

  std::unique_ptr<CudaDevice> device_ = make_test_device(GetParam());
};

const std::vector<BatchNormOp>& all_kinds() {
  static const std::vector<BatchNormOp> kinds = {
      {.epsilon = 1e-3}, {.relu = true}, {.residual = true}, {.relu = true, .residual = true}};
  return kinds;
}

TEST_P(BatchNormOpTest, FollowsTheReference) {
  for (const BatchNormOp& op : all_kinds())
    for (const Shape& shape : {Shape{2, 1, 1, 3}, Shape{3, 5, 7, 17}, Shape{1, 9, 8, 64}})
      check(norm_case(shape, op));
}

TEST_P(BatchNormOpTest, CutsGradientsWhereReluMadeTheInputs) {
  for (const BatchNormOp& op : all_kinds()) {
    CudaCase c = norm_case({2, 5, 5, 12}, op);
    for (CudaInput& input : c.inputs) {
      input.after_relu = true;
      for (float& x : input.values) x = std::max(x, 0.0F);
    }
    check(c);
  }
}

TEST_P(BatchNormOpTest, BackwardWorksInPlace) {
  for (const BatchNormOp& op : all_kinds()) {
    CudaCase c = norm_case({2, 6, 5, 20}, op);
    const CudaResult apart = check(c);
    c.in_place = true;
    expect_same_bits(run_op(*device_, c), apart, "in place");
  }
}

TEST_P(BatchNormOpTest, RecordedPassesTakeTheStepsNumbersFromTheDevice) {
  for (const BatchNormOp& op : all_kinds()) {
    CudaCase c = norm_case({2, 5, 5, 17}, op);
    c.recorded = true;
    check(c);
  }
}

TEST_P(BatchNormOpTest, AccumulatesGradientsAndStatistics) {
  CudaCase c = norm_case({2, 5, 5, 17}, {.relu = true});
  for (std::uint32_t p = 0; p < 4; ++p) c.prior_gradients.push_back(random_values<float>(17, 20 + p));
  check(c);
}

TEST_P(BatchNormOpTest, GivesWhatIsWantedWhereAnInputWantsNoGradient) {
  CudaCase alone = norm_case({2, 4, 5, 9}, {.relu = true});
  alone.inputs[0].wants_gradient = false;
  check(alone);
  for (const bool relu : {false, true})
    for (const std::size_t unwanted : {0U, 1U}) {
      CudaCase c = norm_case({2, 4, 5, 9}, {.relu = relu, .residual = true});
      c.inputs[unwanted].wants_gradient = false;
      check(c);
    }
}

TEST_P(BatchNormOpTest, InferenceTakesTheRunningStatistics) {
  for (const BatchNormOp& op : all_kinds()) {
    CudaCase c = norm_case({2, 5, 3, 11}, op);
    c.training = false;
    c.context.valid_samples = 1;  // padding rows do not matter
    const CudaResult apart = check(c);
    c.in_place = true;
    EXPECT_EQ(run_op(*device_, c).output, apart.output);
  }
}

TEST_P(BatchNormOpTest, TakesTheStatisticsThatAConvolutionLeft) {
  CudaCase conv;
  conv.precision = GetParam();
  conv.op = Conv2dOp{.out_channels = 19, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
  conv.inputs = {{{2, 7, 6, 5}, random_values<float>(420, 31)}};
  conv.output_shape = {2, 7, 6, 19};
  conv.parameters = {random_values<float>(19 * 9 * 5, 32)};
  conv.output_grad = random_values<float>(conv.output_shape.count(), 33);
  conv.feeds_batch_norm = true;
  const CudaResult made = run_op(*device_, conv);
  ASSERT_GT(made.facts.output.side_bytes, 0U);
  ASSERT_NE(made.facts.output.layout->text().find("+statistics"), std::string::npos);

  CudaCase c = norm_case(conv.output_shape, {.relu = true});
  c.inputs[0].values = made.output;
  const CudaResult by_itself = check(c);
  c.inputs[0].spec = made.facts.output;
  c.inputs[0].bytes = made.output_bytes;
  const CudaResult with_statistics = check(c);
  EXPECT_LT(with_statistics.facts.forward_scratch_bytes, by_itself.facts.forward_scratch_bytes);
}

TEST_P(BatchNormOpTest, RefusesWhatHasNoVariance) {
  try {
    run_op(*device_, norm_case({1, 1, 1, 8}, {}));
    FAIL() << "one value has no variance";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("[1,1,1,8]"), std::string::npos) << error.what();
  }
}

TEST_P(BatchNormOpTest, RefusesToAverageOverPaddingRows) {
  CudaCase c = norm_case({3, 2, 2, 4}, {});
  c.context.valid_samples = 2;
  EXPECT_THROW(run_op(*device_, c), Error);
}

INSTANTIATE_TEST_SUITE_P(All, BatchNormOpTest,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& tested) { return text_of(tested.param); });

}  // namespace
}  // namespace trireme::testing
