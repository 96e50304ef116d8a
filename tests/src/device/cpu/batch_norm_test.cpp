// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/batch_norm_case.h"

namespace trireme {
namespace {

using testing::Arrangement;
using testing::OpCase;
using testing::OpResult;
using testing::run_op;

OpCase make_case(const Shape& shape, bool relu, Arrangement arrangement) {
  return testing::batch_norm_case(shape, {1e-3, 0.1, relu}, arrangement);
}

TEST(CpuBatchNorm, AgreesWithTheReferenceInEveryShape) {
  const auto device = make_cpu_device({1});
  for (const Shape& shape : testing::batch_norm_shapes())
    for (const bool relu : {false, true})
      for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
        SCOPED_TRACE(shape.text() + (relu ? " with ReLU" : ""));
        const OpCase c = make_case(shape, relu, arrangement);
        testing::expect_batch_norm(run_op(*device, c), testing::batch_norm_reference(c));
      }
}

TEST(CpuBatchNorm, InferenceUsesTheRunningStatistics) {
  const auto device = make_cpu_device({1});
  for (const Shape& shape : testing::batch_norm_shapes())
    for (const bool in_place : {false, true}) {
      OpCase c = make_case(shape, in_place, Arrangement::preferred);
      c.training = false;
      c.in_place = in_place;
      testing::expect_batch_norm(run_op(*device, c), testing::batch_norm_reference(c));
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
  for (const bool relu : {false, true})
    testing::expect_works_in_place(*device, make_case({3, 9, 8, 17}, relu, Arrangement::preferred));
}

TEST(CpuBatchNorm, AccumulatesGradientsAndStatistics) {
  const auto device = make_cpu_device({1});
  testing::expect_accumulates(*device, make_case({2, 5, 5, 17}, true, Arrangement::preferred));
}

TEST(CpuBatchNorm, GivesParameterGradientsWhereTheInputWantsNone) {
  const auto device = make_cpu_device({1});
  for (const bool relu : {false, true})
    for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
      OpCase c = make_case({3, 4, 5, 17}, relu, arrangement);
      c.inputs[0].wants_gradient = false;
      testing::expect_batch_norm(run_op(*device, c), testing::batch_norm_reference(c));
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
  testing::expect_batch_norm(fused, chained);
}

TEST(CpuBatchNorm, IsTheSameAgainAndAgreesAtAnyThreadCount) {
  const OpCase c = make_case({5, 9, 9, 17}, true, Arrangement::preferred);
  for (const int threads : {1, 2, 3, 8}) {
    const auto device = make_cpu_device({threads});
    const OpResult first = run_op(*device, c);
    testing::expect_batch_norm(first, testing::batch_norm_reference(c));
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
