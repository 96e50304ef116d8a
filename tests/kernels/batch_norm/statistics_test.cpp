// SPDX-License-Identifier: Apache-2.0
// The statistics themselves: numbers that cancel, and tiles as a convolution leaves them.
#include "tests/kernels/batch_norm/batch_norm_case.h"

namespace trireme::kernels {
namespace {

using test::ChannelArrays;
using test::NormInputs;
using test::NormOnDevice;
using test::NormReference;

TEST(BatchNormStatistics, ASmallVarianceAroundALargeMeanIsKept) {
  NormInputs<float> inputs(1500, 6);
  for (std::size_t i = 0; i < inputs.x.size(); ++i)
    inputs.x[i] = 4096 + inputs.x[i] * (i % 6 < 3 ? 1.0F : 0.1F);
  NormOnDevice<float> norm(inputs);
  norm.forward(false, false);
  NormReference reference(inputs);
  reference.forward(false, false);
  const std::vector<float> variance = norm.channels.variance.to_host();
  for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(variance[c] / reference.variance[c], 1, 1e-4) << c;
  // The mean of a tile is rounded to fp32: by up to 2^-12 near 4096, and so is that of all.
  for (std::size_t c = 0; c < 6; ++c)
    EXPECT_NEAR(norm.channels.mean.to_host()[c], reference.mean[c], 0x1p-11);
}

TEST(BatchNormStatistics, AnOutlierInTheFirstRowCostsLittle) {
  NormInputs<float> inputs(2000, 4);
  for (std::size_t c = 0; c < 4; ++c) inputs.x[c] = 1e4F;
  NormOnDevice<float> norm(inputs);
  norm.forward(false, false);
  NormReference reference(inputs);
  reference.forward(false, false);
  test::expect_by_channel(norm.channels.variance, reference.variance, 1, "variance", 1e-5);
}

TEST(BatchNormStatistics, EqualValuesHaveNoVariance) {
  NormInputs<BFloat16> inputs(100, 3);
  for (std::size_t i = 0; i < inputs.x.size(); ++i) inputs.x[i] = i % 3 == 0 ? 3.0F : -0.5F;
  NormOnDevice<BFloat16> norm(inputs);
  norm.forward(false, false);
  EXPECT_EQ(norm.channels.variance.to_host(), (std::vector<float>{0, 0, 0}));
  const std::vector<float> y = inputs.dense(norm.y);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], to_float(from_float<BFloat16>(inputs.shift[i % 3])));
}

/// Tiles of `rows_per_tile` rows, made on the host from random rows; the merged result against the rows.
void expect_merged(std::int64_t rows, std::int64_t rows_per_tile, int channels) {
  const NormInputs<float> inputs(rows, channels, 1);
  const std::int64_t tiles = divide_up(rows, rows_per_tile), pitch = inputs.shape.pitch;
  std::vector<float> values(static_cast<std::size_t>(tiles * 2 * pitch));
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    for (int c = 0; c < channels; ++c) {
      const std::int64_t begin = tile * rows_per_tile, end = std::min(rows, begin + rows_per_tile);
      const auto x = [&](std::int64_t row) {
        return static_cast<double>(inputs.x[static_cast<std::size_t>(row * channels + c)]);
      };
      double sum = 0, m2 = 0;
      for (std::int64_t row = begin; row < end; ++row) sum += x(row);
      const double mean = sum / static_cast<double>(end - begin);
      for (std::int64_t row = begin; row < end; ++row) m2 += (x(row) - mean) * (x(row) - mean);
      values[static_cast<std::size_t>(tile * 2 * pitch + c)] = static_cast<float>(mean);
      values[static_cast<std::size_t>((tile * 2 + 1) * pitch + c)] = static_cast<float>(m2);
    }
  const test::DeviceArray<float> device_tiles(values);
  test::DeviceArray<unsigned char> workspace(
      batch_norm_finish_workspace_bytes(tiles, static_cast<int>(pitch)));
  ChannelArrays arrays(channels);
  batch_norm_finish_statistics(arrays.saved(), {}, {device_tiles.data(), tiles, rows_per_tile}, inputs.shape,
                               test::kEpsilon, workspace.data(), nullptr);
  NormReference reference(inputs);
  reference.forward(false, false);
  test::expect_by_channel(arrays.mean, reference.mean, 1, "mean");
  test::expect_by_channel(arrays.variance, reference.variance, 1, "variance");
}

TEST(BatchNormStatistics, AnyNumberOfTilesMergesToTheWhole) {
  expect_merged(2, 128, 3);          // less than a tile
  expect_merged(16 * 3 + 1, 3, 40);  // a tile for each warp and one more, of one row
  expect_merged(512, 1, 5);          // the most that are merged at once
  expect_merged(513, 1, 5);          // one more
  expect_merged(3 * 3001 + 2, 3, 36);
}

TEST(BatchNormStatistics, TilesThatDoNotGiveTheRowsAreRefused) {
  ChannelArrays arrays(3);
  const test::DeviceArray<float> tiles(2 * 2 * 8);
  EXPECT_THROW(batch_norm_finish_statistics(arrays.saved(), {}, {tiles.data(), 2, 10}, {21, 3, 8}, 1e-5,
                                            nullptr, nullptr),
               std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
