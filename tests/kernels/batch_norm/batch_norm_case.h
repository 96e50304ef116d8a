// SPDX-License-Identifier: Apache-2.0
// A batch norm with random numbers: what the kernels make of it, and what the float64 loops do.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/reference/batch_norm.h"
#include "kernels/reference/elementwise.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/expect_rounded.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::test {

constexpr double kEpsilon = 1e-5;
/// What fp32 costs for outputs of a few units: some roundings of numbers of that size.
constexpr double kNormSlack = 4e-6;

struct NormSize {
  std::int64_t rows;
  int channels, extra_vectors;
};
/// One row of tiles and several, channels that do and do not fill a vector or a block's columns.
inline const std::vector<NormSize> kNormSizes = {{2, 1, 0},    {3, 3, 2},    {7, 8, 0},
                                                 {50, 7, 1},   {33, 64, 0},  {9, 300, 0},
                                                 {70, 129, 1}, {2500, 5, 0}, {4100, 16, 0}};

inline std::vector<float> random_by_channel(int channels, unsigned seed, float lowest, float highest) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(lowest, highest);
  std::vector<float> values(static_cast<std::size_t>(channels));
  for (float& value : values) value = uniform(random);
  return values;
}

/// Inputs of one batch norm. Numbers are exact in T.
template <typename T>
struct NormInputs {
  NormInputs(std::int64_t rows, int channels, int extra_vectors = 0)
      : shape{rows, channels,
              static_cast<int>(pitch_of<T>(channels)) + extra_vectors * kernels::kVectorSize<T>},
        x(random_rows<T>(rows, channels, 1)),
        residual(random_rows<T>(rows, channels, 2)),
        dy(random_rows<T>(rows, channels, 3)),
        scale(random_by_channel(channels, 4, -1.5F, 1.5F)),
        shift(random_by_channel(channels, 5, -0.5F, 0.5F)) {}

  std::size_t padded() const {
    return static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.pitch);
  }
  std::vector<T> on_device(const std::vector<float>& dense) const {
    return with_pitch<T>(dense, shape.channels, shape.pitch);
  }
  std::vector<float> dense(const DeviceArray<T>& array) const {
    bool pad_is_zero = true;
    std::vector<float> values = without_pitch(array.to_host(), shape.channels, shape.pitch, pad_is_zero);
    EXPECT_TRUE(pad_is_zero) << "pad channels are not zero";
    return values;
  }

  kernels::BatchNormShape shape;
  std::vector<float> x, residual, dy, scale, shift;
};

/// Statistics and gradients by channel on the device.
struct ChannelArrays {
  explicit ChannelArrays(int channels)
      : mean(size(channels)),
        inverse_deviation(size(channels)),
        variance(size(channels)),
        scale_gradient(size(channels)),
        shift_gradient(size(channels)),
        running_mean(size(channels)),
        running_variance(size(channels)),
        count(1),
        step(1) {
    set_share(0.25F);
  }
  static std::size_t size(int channels) { return static_cast<std::size_t>(channels); }
  void set_share(float share_weight) {
    kernels::StepValues values;
    values.share_weight = share_weight;
    check_cuda(cudaMemcpy(step.data(), &values, sizeof values, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  kernels::BatchNormSaved saved() {
    return {mean.data(), inverse_deviation.data(), variance.data(), count.data()};
  }
  kernels::RunningGradients running(bool accumulate) {
    return {running_mean.data(), running_variance.data(), step.data(), accumulate};
  }
  kernels::BatchNormParameterGradients gradients(bool accumulate) {
    return {scale_gradient.data(), shift_gradient.data(), running(accumulate), accumulate};
  }

  DeviceArray<float> mean, inverse_deviation, variance, scale_gradient, shift_gradient, running_mean,
      running_variance;
  DeviceArray<double> count;
  DeviceArray<kernels::StepValues> step;
};

/// Tile statistics of x by batch_norm_statistics.
template <typename T>
struct TileArrays {
  TileArrays(const T* x, const kernels::BatchNormShape& shape)
      : tiles(kernels::batch_norm_tiles<T>(shape)),
        values(kernels::tile_statistics_bytes(tiles.tiles, shape.pitch) / sizeof(float)),
        workspace(kernels::batch_norm_finish_workspace_bytes(tiles.tiles, shape.pitch)) {
    kernels::batch_norm_statistics(values.data(), x, shape, nullptr);
  }
  kernels::TileStatistics statistics() { return {values.data(), tiles.tiles, tiles.rows_per_tile}; }

  kernels::StatisticsTiles tiles;
  DeviceArray<float> values;
  DeviceArray<unsigned char> workspace;
};

/// One batch norm of one rank on the device, pass by pass.
template <typename T>
class NormOnDevice {
 public:
  explicit NormOnDevice(const NormInputs<T>& with)
      : inputs(with),
        x(inputs.on_device(inputs.x)),
        residual(inputs.on_device(inputs.residual)),
        dy(inputs.on_device(inputs.dy)),
        y(inputs.padded()),
        masked(inputs.padded()),
        dx(inputs.padded()),
        signs(inputs.padded() / static_cast<std::size_t>(kernels::kVectorSize<T>)),
        scale(inputs.scale),
        shift(inputs.shift),
        channels(inputs.shape.channels),
        sums(kernels::batch_norm_backward_sums_bytes<T>(inputs.shape) / sizeof(float)),
        coefficients(2 * static_cast<std::size_t>(inputs.shape.pitch)) {}

  kernels::BatchNormFactors factors() {
    return {scale.data(), shift.data(), channels.mean.data(), channels.inverse_deviation.data()};
  }
  void normalize(bool with_residual, bool relu) {
    kernels::batch_norm_apply<T>(y.data(), x.data(), with_residual ? residual.data() : nullptr, factors(),
                                 relu, inputs.shape, nullptr, relu ? signs.data() : nullptr);
  }
  void forward(bool with_residual, bool relu, bool accumulate = false) {
    TileArrays<T> tiles(x.data(), inputs.shape);
    kernels::batch_norm_finish_statistics(channels.saved(), channels.running(accumulate), tiles.statistics(),
                                          inputs.shape, kEpsilon, tiles.workspace.data(), nullptr);
    normalize(with_residual, relu);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // before the tiles go
  }

  kernels::BatchNormGradientInputs<T> gradient_inputs(kernels::ReluMask mask) {
    const bool is_stored = mask == kernels::ReluMask::stored;
    return {x.data(),  dy.data(), is_stored ? signs.data() : nullptr, is_stored ? masked.data() : nullptr,
            factors(), mask};
  }
  void backward(const kernels::BatchNormGradientInputs<T>& from, T* to, bool accumulate = false) {
    kernels::batch_norm_backward_reduce(sums.data(), from, inputs.shape, nullptr);
    kernels::batch_norm_backward_finish<T>(channels.gradients(accumulate), coefficients.data(), sums.data(),
                                           channels.saved(), inputs.shape, nullptr);
    kernels::batch_norm_backward_apply(to, from, coefficients.data(), inputs.shape, nullptr);
  }

  NormInputs<T> inputs;
  DeviceArray<T> x, residual, dy, y, masked, dx;
  DeviceArray<std::uint8_t> signs;
  DeviceArray<float> scale, shift;
  ChannelArrays channels;
  DeviceArray<float> sums, coefficients;
};

/// The same in float64.
struct NormReference {
  template <typename T>
  explicit NormReference(const NormInputs<T>& inputs)
      : shape{inputs.shape.rows, inputs.shape.channels, kEpsilon},
        x(widen(inputs.x)),
        residual(widen(inputs.residual)),
        dy(widen(inputs.dy)),
        scale(widen(inputs.scale)),
        shift(widen(inputs.shift)),
        y(x.size()),
        dx(x.size()),
        mean(scale.size()),
        variance(scale.size()),
        scale_gradient(scale.size()),
        shift_gradient(scale.size()) {}

  void forward(bool with_residual, bool relu) {
    reference::batch_norm_forward_training(y.data(), mean.data(), variance.data(), x.data(), scale.data(),
                                           shift.data(), shape);
    const auto count = static_cast<std::int64_t>(y.size());
    if (with_residual) reference::add_forward(y.data(), y.data(), residual.data(), count);
    if (relu) reference::relu_forward(y.data(), y.data(), count);
  }
  /// `stored_y`, of the device: where the sign is a matter of rounding, it decides.
  void backward(bool relu, const std::vector<float>& stored_y) {
    masked = dy;
    if (relu) {
      const std::vector<double> wide = widen(stored_y);
      reference::relu_backward(masked.data(), dy.data(), wide.data(), static_cast<std::int64_t>(dy.size()));
    }
    reference::batch_norm_backward(dx.data(), scale_gradient.data(), shift_gradient.data(), masked.data(),
                                   x.data(), scale.data(), mean.data(), variance.data(), shape);
  }
  double unbiased(std::size_t channel) const {
    return variance[channel] * static_cast<double>(shape.values) / static_cast<double>(shape.values - 1);
  }

  reference::BatchNormShape shape;
  std::vector<double> x, residual, dy, scale, shift, y, dx, mean, variance, scale_gradient, shift_gradient,
      masked;
};

/// Numbers by channel that are right to a few roundings of fp32, relative to the largest.
inline void expect_by_channel(const DeviceArray<float>& actual, std::vector<double> expected, double factor,
                              const std::string& what, double tolerance = 1e-6) {
  double largest = 0;
  for (double& value : expected) largest = std::max(largest, std::abs(value *= factor));
  expect_rounded<float>(actual.to_host(), expected, tolerance * (largest + 1e-3), what);
}

}  // namespace trireme::test
