// SPDX-License-Identifier: Apache-2.0
// Batch norm over the batches of all ranks: the ranks' results, put together, must be those of the whole
// batch.
#include <gtest/gtest.h>

#include "tests/src/device/cuda/batch_norm_cases.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

/// `rows` samples from `first` on, weighted by their share of the whole.
CudaCase share_of_case(const CudaCase& whole, std::int64_t first, std::int64_t rows) {
  CudaCase share = whole;
  const Shape& s = whole.output_shape;
  const std::int64_t row = s.count() / s[0];
  const auto cut = [&](const std::vector<float>& values) {
    return std::vector<float>(values.begin() + first * row, values.begin() + (first + rows) * row);
  };
  share.output_shape = Shape{rows, s[1], s[2], s[3]};
  for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
    share.inputs[i].shape = share.output_shape;
    share.inputs[i].values = cut(whole.inputs[i].values);
  }
  share.output_grad = cut(whole.output_grad);
  share.context.share_weight *= static_cast<float>(rows) / static_cast<float>(s[0]);
  return share;
}

/// Outputs one after the other, gradients of parameters added, as the exchange does.
CudaResult together(const std::vector<CudaResult>& ranks) {
  CudaResult all = ranks[0];
  const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    append(all.output, ranks[r].output);
    for (std::size_t i = 0; i < all.input_grads.size(); ++i)
      append(all.input_grads[i], ranks[r].input_grads[i]);
    for (std::size_t p = 0; p < all.parameter_grads.size(); ++p)
      for (std::size_t i = 0; i < all.parameter_grads[p].size(); ++i)
        all.parameter_grads[p][i] += ranks[r].parameter_grads[p][i];
  }
  return all;
}

class SyncBatchNormOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  std::unique_ptr<CudaDevice> device_ = make_test_device(GetParam());
};

TEST_P(SyncBatchNormOpTest, SharesOfABatchGiveWhatTheWholeBatchGives) {
  for (const bool relu : {false, true})
    for (const bool residual : {false, true}) {
      const CudaCase whole = batch_norm_case(
          GetParam(), {5, 3, 4, 11}, {.epsilon = 1e-3, .relu = relu, .sync = true, .residual = residual});
      for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{5}, {2, 3}, {1, 1, 3}}) {
        SCOPED_TRACE(std::to_string(rows.size()) + " ranks");
        std::vector<CudaCase> cases;
        std::int64_t first = 0;
        for (const std::int64_t count : rows) {
          cases.push_back(share_of_case(whole, first, count));
          first += count;
        }
        expect_batch_norm(whole, together(run_op_on_ranks(*device_, cases)));
      }
    }
}

TEST_P(SyncBatchNormOpTest, AccumulatesGradientsAndStatistics) {
  CudaCase c = batch_norm_case(GetParam(), {2, 5, 5, 17}, {.relu = true, .sync = true});
  for (std::uint32_t p = 0; p < 4; ++p) c.prior_gradients.push_back(random_values<float>(17, 20 + p));
  expect_batch_norm(c, run_op(*device_, c));
}

TEST_P(SyncBatchNormOpTest, RecordedPassesTakeTheStepsNumbersFromTheDevice) {
  CudaCase c = batch_norm_case(GetParam(), {2, 5, 5, 17}, {.relu = true, .sync = true, .residual = true});
  c.recorded = true;
  expect_batch_norm(c, run_op(*device_, c));
}

TEST_P(SyncBatchNormOpTest, BackwardWorksInPlace) {
  for (const bool residual : {false, true}) {
    CudaCase c =
        batch_norm_case(GetParam(), {2, 4, 3, 10}, {.relu = true, .sync = true, .residual = residual});
    const CudaResult apart = run_op(*device_, c);
    c.in_place = true;
    expect_same_bits(run_op(*device_, c), apart, "in place");
  }
}

TEST_P(SyncBatchNormOpTest, InferenceAsksForNoSums) {
  CudaCase c = batch_norm_case(GetParam(), {2, 3, 3, 6}, {.sync = true});
  c.training = false;
  const CudaResult result = run_op(*device_, c);
  EXPECT_EQ(result.facts.group_sums.forward, 0);
  expect_batch_norm(c, result);
}

INSTANTIATE_TEST_SUITE_P(All, SyncBatchNormOpTest,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& tested) { return text_of(tested.param); });

}  // namespace
}  // namespace trireme::testing
