// SPDX-License-Identifier: Apache-2.0
// Two ranks with different numbers of rows, their sums added here: as one batch norm over all rows.
#include "tests/kernels/batch_norm/batch_norm_case.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;
using test::NormInputs;
using test::NormOnDevice;
using test::NormReference;

/// Rows [begin, end) of all inputs.
template <typename T>
NormInputs<T> rows_of(const NormInputs<T>& all, std::int64_t begin, std::int64_t end) {
  NormInputs<T> part = all;
  part.shape.rows = end - begin;
  for (auto which : {&NormInputs<T>::x, &NormInputs<T>::residual, &NormInputs<T>::dy}) {
    const std::vector<float>& from = all.*which;
    (part.*which).assign(from.begin() + begin * all.shape.channels, from.begin() + end * all.shape.channels);
  }
  return part;
}

/// Adds up the arrays of all ranks and gives each the sum.
void allreduce(std::vector<std::unique_ptr<DeviceArray<double>>>& ranks) {
  std::vector<double> sum(ranks[0]->size());
  for (const auto& rank : ranks) {
    const std::vector<double> part = rank->to_host();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  for (const auto& rank : ranks)
    test::check_cuda(
        cudaMemcpy(rank->data(), sum.data(), sum.size() * sizeof(double), cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

template <typename T>
class SyncBatchNorm : public testing::Test {
 protected:
  using Sums = std::vector<std::unique_ptr<DeviceArray<double>>>;

  void cut(const NormInputs<T>& all, const std::vector<std::int64_t>& ends) {
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      ranks.push_back(std::make_unique<NormOnDevice<T>>(rows_of(all, begin, end)));
      begin = end;
    }
  }

  Sums forward(bool with_residual, bool relu) {
    Sums sums;
    for (auto& rank : ranks) {
      const BatchNormShape& shape = rank->inputs.shape;
      sums.push_back(std::make_unique<DeviceArray<double>>(1 + 2 * static_cast<std::size_t>(shape.channels)));
      test::TileArrays<T> tiles(rank->x.data(), shape);
      batch_norm_sync_sums(sums.back()->data(), tiles.statistics(), shape, tiles.workspace.data(), nullptr);
      test::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    allreduce(sums);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      NormOnDevice<T>& rank = *ranks[r];
      batch_norm_sync_finish_statistics(rank.channels.saved(), {}, sums[r]->data(),
                                        rank.inputs.shape.channels, test::kEpsilon, nullptr);
      rank.normalize(with_residual, relu);
    }
    return sums;
  }

  Sums backward(ReluMask mask) {
    Sums sums;
    for (auto& rank : ranks) {
      const BatchNormShape& shape = rank->inputs.shape;
      sums.push_back(std::make_unique<DeviceArray<double>>(2 * static_cast<std::size_t>(shape.channels)));
      batch_norm_backward_reduce(rank->sums.data(), rank->gradient_inputs(mask), shape, nullptr);
      batch_norm_sync_backward_sums<T>(rank->channels.gradients(false), sums.back()->data(),
                                       rank->sums.data(), rank->channels.saved(), shape, nullptr);
    }
    allreduce(sums);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      NormOnDevice<T>& rank = *ranks[r];
      const BatchNormShape& shape = rank.inputs.shape;
      batch_norm_sync_coefficients(rank.coefficients.data(), sums[r]->data(), rank.channels.saved(),
                                   shape.channels, shape.pitch, nullptr);
      batch_norm_backward_apply(rank.dx.data(), rank.gradient_inputs(mask), rank.coefficients.data(), shape,
                                nullptr);
    }
    return sums;
  }

  /// One after the other.
  std::vector<float> gather(DeviceArray<T> NormOnDevice<T>::*which) const {
    std::vector<float> all;
    for (const auto& rank : ranks) {
      const std::vector<float> part = rank->inputs.dense((*rank).*which);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  std::vector<double> add_up(DeviceArray<float> test::ChannelArrays::*which) const {
    std::vector<double> sum;
    for (const auto& rank : ranks) {
      const std::vector<float> part = (rank->channels.*which).to_host();
      sum.resize(part.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part[i]);
    }
    return sum;
  }

  std::vector<std::unique_ptr<NormOnDevice<T>>> ranks;
};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(SyncBatchNorm, Types);

TYPED_TEST(SyncBatchNorm, RanksTogetherAreOneBatch) {
  using T = TypeParam;
  for (const ReluMask mask : {ReluMask::none, ReluMask::recomputed, ReluMask::stored}) {
    const bool relu = mask != ReluMask::none, with_residual = mask == ReluMask::stored;
    const NormInputs<T> all(70, 9, 1);
    this->ranks.clear();
    this->cut(all, {37, 38, 70});  // one rank has a single row
    this->forward(with_residual, relu);
    NormReference reference(all);
    reference.forward(with_residual, relu);
    const std::vector<float> y = this->gather(&NormOnDevice<T>::y);
    test::expect_rounded<T>(y, reference.y, test::kNormSlack, "y");

    this->backward(mask);
    reference.backward(relu, y);
    test::expect_rounded<T>(this->gather(&NormOnDevice<T>::dx), reference.dx, 2 * test::kNormSlack, "dx");
    const std::vector<double> dscale = this->add_up(&test::ChannelArrays::scale_gradient);
    const std::vector<double> dshift = this->add_up(&test::ChannelArrays::shift_gradient);
    for (std::size_t c = 0; c < 9; ++c) {
      EXPECT_NEAR(dscale[c], reference.scale_gradient[c], 4e-5) << c;
      EXPECT_NEAR(dshift[c], reference.shift_gradient[c], 4e-5) << c;
      for (const auto& rank : this->ranks) {  // each adds its share, 0.25
        EXPECT_NEAR(rank->channels.running_mean.to_host()[c], reference.mean[c] / 4, 1e-6);
        EXPECT_NEAR(rank->channels.running_variance.to_host()[c], reference.unbiased(c) / 4, 1e-6);
      }
    }
  }
}

TYPED_TEST(SyncBatchNorm, SumsAreThoseOfTheRows) {
  using T = TypeParam;
  const NormInputs<T> all(50, 7);
  this->cut(all, {50});
  const std::vector<double> sums = this->forward(false, false)[0]->to_host();
  const std::vector<double> gradient_sums = this->backward(ReluMask::none)[0]->to_host();
  const std::vector<float> mean = this->ranks[0]->channels.mean.to_host();
  EXPECT_EQ(sums[0], 50);
  for (std::size_t c = 0; c < 7; ++c) {
    double sum = 0, square = 0, gradient = 0, product = 0;
    for (std::size_t i = c; i < all.x.size(); i += 7) {
      const auto x = static_cast<double>(all.x[i]), dy = static_cast<double>(all.dy[i]);
      sum += x, square += x * x, gradient += dy, product += dy * (x - static_cast<double>(mean[c]));
    }
    EXPECT_NEAR(sums[1 + c], sum, 1e-5) << c;
    EXPECT_NEAR(sums[8 + c], square, 1e-5) << c;
    EXPECT_NEAR(gradient_sums[c], gradient, 1e-5) << c;
    EXPECT_NEAR(gradient_sums[7 + c], product, 1e-5) << c;
  }
}

TYPED_TEST(SyncBatchNorm, OneRowOfAllRanksHasNoStatistics) {
  using T = TypeParam;
  this->cut(NormInputs<T>(1, 3), {1});
  this->forward(false, false);
  for (const float value : this->ranks[0]->channels.variance.to_host()) EXPECT_TRUE(std::isnan(value));
  for (const float value : this->gather(&NormOnDevice<T>::y)) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace trireme::kernels
