// SPDX-License-Identifier: Apache-2.0
// Batch norm over the batches of all ranks: the ranks' results, put together, must be those of the whole
// batch.
#include <gtest/gtest.h>

#include <numeric>

#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/device/cpu/batch_norm_case.h"

namespace trireme::testing {
namespace {

OpCase whole_case(const Shape& shape, bool relu, Arrangement arrangement) {
  return batch_norm_case(shape, {.epsilon = 1e-3, .relu = relu, .sync = true}, arrangement);
}

/// `rows` samples from `first` on, weighted by their share of the whole.
OpCase share_of_case(const OpCase& whole, std::int64_t first, std::int64_t rows) {
  OpCase share = whole;
  const std::int64_t row = whole.output_shape.count() / whole.output_shape[0];
  const auto cut = [&](const std::vector<float>& values) {
    return std::vector<float>(values.begin() + first * row, values.begin() + (first + rows) * row);
  };
  const Shape& s = whole.output_shape;
  share.output_shape = Shape{rows, s[1], s[2], s[3]};
  share.inputs[0].shape = share.output_shape;
  share.inputs[0].values = cut(whole.inputs[0].values);
  share.output_grad = cut(whole.output_grad);
  share.context.share_weight *= static_cast<float>(rows) / static_cast<float>(s[0]);
  return share;
}

std::vector<OpCase> shares_of(const OpCase& whole, const std::vector<std::int64_t>& rows) {
  std::vector<OpCase> cases;
  std::int64_t first = 0;
  for (const std::int64_t count : rows) {
    cases.push_back(share_of_case(whole, first, count));
    first += count;
  }
  return cases;
}

/// Outputs one after the other, gradients of parameters added, as the exchange does.
OpResult together(const std::vector<OpResult>& ranks) {
  OpResult all = ranks[0];
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.output, ranks[r].output);
    append(all.input_grads[0], ranks[r].input_grads[0]);
    for (std::size_t p = 0; p < all.parameter_grads.size(); ++p)
      for (std::size_t i = 0; i < all.parameter_grads[p].size(); ++i)
        all.parameter_grads[p][i] += ranks[r].parameter_grads[p][i];
  }
  return all;
}

TEST(CpuSyncBatchNorm, SharesOfABatchGiveWhatTheWholeBatchGives) {
  const auto device = make_cpu_device({1});
  const std::vector<std::vector<std::int64_t>> divisions = {{5}, {2, 3}, {1, 4}, {1, 1, 3}, {1, 1, 1, 1, 1}};
  for (const Shape& sample : batch_norm_shapes())
    for (const bool relu : {false, true})
      for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
        const OpCase whole = whole_case({5, sample[1], sample[2], sample[3]}, relu, arrangement);
        const OpResult expected = batch_norm_reference(whole);
        for (const auto& rows : divisions) {
          SCOPED_TRACE(whole.output_shape.text() + " on " + std::to_string(rows.size()) + " ranks");
          expect_batch_norm(together(run_op_on_ranks(*device, shares_of(whole, rows))), expected);
        }
      }
}

TEST(CpuSyncBatchNorm, ManyPositionsAreSummedInPieces) {
  const auto device = make_cpu_device({2});
  for (const Arrangement arrangement : {Arrangement::dense, Arrangement::preferred}) {
    const OpCase whole = whole_case({4, 33, 35, 19}, true, arrangement);
    expect_batch_norm(together(run_op_on_ranks(*device, shares_of(whole, {3, 1}))),
                      batch_norm_reference(whole));
  }
}

TEST(CpuSyncBatchNorm, AloneIsOrdinaryBatchNorm) {
  const auto device = make_cpu_device({1});
  OpCase c = whole_case({3, 9, 8, 17}, true, Arrangement::preferred);
  const OpResult sync = run_op(*device, c);
  std::get<BatchNormOp>(c.op).sync = false;
  expect_batch_norm(sync, run_op(*device, c));
}

TEST(CpuSyncBatchNorm, InferenceIsThatOfOrdinaryBatchNorm) {
  const auto device = make_cpu_device({1});
  OpCase c = whole_case({3, 4, 5, 17}, true, Arrangement::preferred);
  c.training = false;
  const OpResult sync = run_op(*device, c);
  EXPECT_EQ(sync.facts.group_sums.forward, 0);
  std::get<BatchNormOp>(c.op).sync = false;
  expect_same_bits(sync, run_op(*device, c), "inference");
}

TEST(CpuSyncBatchNorm, HasTheSameBitsAtAnyThreadCount) {
  const OpCase whole = whole_case({3, 33, 35, 40}, true, Arrangement::preferred);
  const auto on_threads = [&](int threads) {
    const auto device = make_cpu_device({threads});
    return together(run_op_on_ranks(*device, shares_of(whole, {2, 1})));
  };
  const OpResult one = on_threads(1);
  for (const int threads : {2, 3, 8})
    expect_same_bits(on_threads(threads), one, std::to_string(threads) + " threads");
}

TEST(CpuSyncBatchNorm, AgreesWithFiniteDifferencesThroughOtherRanks) {
  const auto device = make_cpu_device({1});
  const OpCase whole = whole_case({3, 3, 2, 3}, false, Arrangement::preferred);
  std::vector<OpCase> ranks = shares_of(whole, {1, 2});
  const std::vector<OpResult> results = run_op_on_ranks(*device, ranks);
  // A change on one rank moves the outputs of all.
  const auto loss = [&] {
    const std::vector<OpResult> moved = run_op_on_ranks(*device, ranks);
    return dot(moved[0].output, ranks[0].output_grad) + dot(moved[1].output, ranks[1].output_grad);
  };
  for (std::size_t r = 0; r < ranks.size(); ++r)
    expect_close(results[r].input_grads[0], central_differences(ranks[r].inputs[0].values, 0.02, loss), 1e-3,
                 "input gradient of rank " + std::to_string(r));
}

TEST(CpuSyncBatchNorm, BackwardWorksInPlace) {
  const auto device = make_cpu_device({2});
  for (const bool relu : {false, true})
    expect_works_in_place(*device, whole_case({3, 9, 8, 17}, relu, Arrangement::preferred));
}

TEST(CpuSyncBatchNorm, AccumulatesGradientsAndStatistics) {
  const auto device = make_cpu_device({1});
  expect_accumulates(*device, whole_case({2, 5, 5, 17}, true, Arrangement::preferred));
}

TEST(CpuSyncBatchNorm, GivesParameterGradientsWhereTheInputWantsNone) {
  const auto device = make_cpu_device({1});
  OpCase c = whole_case({3, 4, 5, 17}, true, Arrangement::dense);
  c.inputs[0].wants_gradient = false;
  expect_batch_norm(run_op(*device, c), batch_norm_reference(c));
}

TEST(CpuSyncBatchNorm, AMeanFarAboveTheDeviationLeavesTheVarianceRight) {
  const auto device = make_cpu_device({1});
  OpCase c = whole_case({4, 16, 16, 16}, false, Arrangement::preferred);
  for (float& x : c.inputs[0].values) x = 1000 + 0.25F * std::round(4 * x);  // exact in fp32
  const OpResult expected = batch_norm_reference(c), result = run_op(*device, c);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(result.parameter_grads[3][i], expected.parameter_grads[3][i],
                1e-6 * expected.parameter_grads[3][i]);
}

TEST(CpuSyncBatchNorm, NeedsTwoValuesPerChannelOnAllRanksTogether) {
  const auto device = make_cpu_device({1});
  const OpCase whole = whole_case({2, 1, 1, 8}, false, Arrangement::dense);
  expect_batch_norm(together(run_op_on_ranks(*device, shares_of(whole, {1, 1}))),
                    batch_norm_reference(whole));
  try {
    run_op(*device, share_of_case(whole, 0, 1));
    FAIL() << "one value has no variance";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("[1,1,1,8]"), std::string::npos) << error.what();
  }
}

TEST(CpuSyncBatchNorm, RefusesToAverageOverPaddingRows) {
  const auto device = make_cpu_device({1});
  OpCase c = whole_case({3, 2, 2, 4}, false, Arrangement::dense);
  c.context.valid_samples = 2;
  EXPECT_THROW(run_op(*device, c), Error);
}

}  // namespace
}  // namespace trireme::testing
