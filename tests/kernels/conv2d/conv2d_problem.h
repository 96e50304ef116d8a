// SPDX-License-Identifier: Apache-2.0
// A convolution with random operands, on the device and for the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/conv2d/conv2d.h"
#include "kernels/reference/conv2d.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"
#include "tests/kernels/support/products.h"

namespace trireme::test {

/// batch, height, width, channels in and out, kernel, stride, padding.
struct Dimensions {
  std::int64_t n, h, w, i, o, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};
inline Dimensions square(std::int64_t n, std::int64_t size, std::int64_t i, std::int64_t o,
                         std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {n, size, size, i, o, kernel, kernel, stride, stride, pad, pad};
}

template <typename T>
kernels::Conv2dShape shape_of(const Dimensions& d) {
  return {d.n,        d.h,        d.w,        d.i,        pitch_of<T>(d.i), d.o,    pitch_of<T>(d.o),
          d.kernel_h, d.kernel_w, d.stride_h, d.stride_w, d.pad_h,          d.pad_w};
}
inline reference::Conv2dShape reference_shape(const kernels::Conv2dShape& s) {
  return {s.batch,    s.in_h,     s.in_w,     s.in_channels, s.out_channels, s.kernel_h,
          s.kernel_w, s.stride_h, s.stride_w, s.pad_h,       s.pad_w};
}

template <typename T>
struct ConvProblem {
  explicit ConvProblem(const kernels::Conv2dShape& s)
      : shape(s),
        x(random_rows<T>(s.in_pixels(), s.in_channels, 1)),
        dy(random_rows<T>(s.out_pixels(), s.out_channels, 2)),
        weights(random_rows<float>(s.out_channels * s.kernel_h * s.kernel_w, s.in_channels, 3)),
        bias(random_rows<float>(1, s.out_channels, 4)),
        residual(random_rows<T>(s.out_pixels(), s.out_channels, 5)),
        addend(random_rows<T>(s.in_pixels(), s.in_channels, 6)),
        device_x(with_pitch<T>(x, s.in_channels, s.in_pitch)),
        device_dy(with_pitch<T>(dy, s.out_channels, s.out_pitch)),
        device_weights(weights),
        packed(static_cast<std::size_t>(kernels::conv2d_packed_weights_size<T>(s))) {
    kernels::conv2d_pack_weights(packed.data(), device_weights.data(), s, nullptr);
  }

  double taps() const { return static_cast<double>(shape.kernel_h * shape.kernel_w); }
  std::size_t out_size() const { return static_cast<std::size_t>(shape.out_pixels() * shape.out_pitch); }
  std::size_t in_size() const { return static_cast<std::size_t>(shape.in_pixels() * shape.in_pitch); }

  kernels::Conv2dShape shape;
  std::vector<float> x, dy, weights, bias, residual, addend;
  DeviceArray<T> device_x, device_dy;
  DeviceArray<float> device_weights;
  DeviceArray<T> packed;
};

struct ForwardOptions {
  bool bias = false, residual = false, relu = false;
  kernels::TileShape tile = kernels::TileShape::automatic;
};

/// Each tile's mean and M2 against float64 over the stored values.
template <typename T>
void expect_statistics(const std::vector<float>& statistics, const std::vector<float>& y,
                       const kernels::Conv2dShape& s, const kernels::StatisticsTiles& tiles) {
  const auto value = [&](std::int64_t row, std::int64_t c) {
    return static_cast<double>(y[static_cast<std::size_t>(row * s.out_channels + c)]);
  };
  std::vector<double> expected(statistics.size());
  for (std::int64_t tile = 0; tile < tiles.tiles; ++tile) {
    const std::int64_t begin = tile * tiles.rows_per_tile,
                       end = std::min(begin + tiles.rows_per_tile, tiles.rows);
    for (std::int64_t c = 0; c < s.out_channels; ++c) {
      double sum = 0, m2 = 0;
      for (std::int64_t row = begin; row < end; ++row) sum += value(row, c);
      const double mean = sum / static_cast<double>(end - begin);
      for (std::int64_t row = begin; row < end; ++row) m2 += (value(row, c) - mean) * (value(row, c) - mean);
      expected[static_cast<std::size_t>(2 * tile * s.out_pitch + c)] = mean;
      expected[static_cast<std::size_t>((2 * tile + 1) * s.out_pitch + c)] = m2;
    }
  }
  expect_near(statistics, expected, 1e-5, 1e-5, "statistics");
}

template <typename T>
void check_forward(const kernels::Conv2dShape& s, const ForwardOptions& options = {}) {
  const ConvProblem<T> problem(s);
  DeviceArray<T> y(problem.out_size());
  const DeviceArray<float> bias(problem.bias);
  const DeviceArray<T> residual(with_pitch<T>(problem.residual, s.out_channels, s.out_pitch));
  const kernels::StatisticsTiles tiles = kernels::conv2d_statistics_tiles<T>(s, options.tile);
  DeviceArray<float> statistics(static_cast<std::size_t>(tiles.tiles * 2 * s.out_pitch));
  kernels::conv2d_forward<T>(
      {y.data(), problem.device_x.data(), problem.packed.data(), options.bias ? bias.data() : nullptr,
       options.residual ? residual.data() : nullptr, options.relu, statistics.data()},
      s, nullptr, options.tile);

  std::vector<double> expected(static_cast<std::size_t>(s.out_pixels() * s.out_channels));
  const std::vector<double> bias_values(problem.bias.begin(), problem.bias.end());
  reference::conv2d_forward(expected.data(), operands<T>(problem.x).data(),
                            operands<T>(problem.weights).data(), options.bias ? bias_values.data() : nullptr,
                            reference_shape(s));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (options.residual) expected[i] += problem.residual[i];
    if (options.relu && expected[i] < 0) expected[i] = 0;
  }
  bool pad_is_zero = true;
  const std::vector<float> values = without_pitch(y.to_host(), s.out_channels, s.out_pitch, pad_is_zero);
  EXPECT_TRUE(pad_is_zero);
  expect_near(values, expected, kUnit<T>, sum_error(problem.taps() * static_cast<double>(s.in_channels)),
              "y");
  expect_statistics<T>(statistics.to_host(), values, s, tiles);
}

struct DataOptions {
  bool addend = false, relu = false;
  kernels::TileShape tile = kernels::TileShape::automatic;
};

/// With `relu` the picture x stands for the output of a ReLU, of which about a half is not above zero.
template <typename T>
void check_backward_data(const kernels::Conv2dShape& s, const DataOptions& options = {}) {
  const ConvProblem<T> problem(s);
  DeviceArray<T> dx(problem.in_size());
  const DeviceArray<T> addend(with_pitch<T>(problem.addend, s.in_channels, s.in_pitch));
  kernels::conv2d_backward_data<T>(
      {dx.data(), problem.device_dy.data(), problem.packed.data(), options.addend ? addend.data() : nullptr,
       options.relu ? problem.device_x.data() : nullptr},
      s, nullptr, options.tile);
  std::vector<double> expected(problem.x.size());
  reference::conv2d_backward_data(expected.data(), operands<T>(problem.dy).data(),
                                  operands<T>(problem.weights).data(), reference_shape(s));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (options.addend) expected[i] += problem.addend[i];
    if (options.relu && !(problem.x[i] > 0)) expected[i] = 0;
  }
  bool pad_is_zero = true;
  const std::vector<float> values = without_pitch(dx.to_host(), s.in_channels, s.in_pitch, pad_is_zero);
  EXPECT_TRUE(pad_is_zero);
  expect_near(values, expected, kUnit<T>, sum_error(problem.taps() * static_cast<double>(s.out_channels)),
              "dx");
}

struct WeightsOptions {
  bool accumulate = false;
  int multiprocessors = 4;
  kernels::TileShape tile = kernels::TileShape::automatic;
};

template <typename T>
void check_backward_weights(const kernels::Conv2dShape& s, const WeightsOptions& options = {}) {
  const ConvProblem<T> problem(s);
  const std::vector<float> weights_before =
      random_rows<float>(1, static_cast<std::int64_t>(problem.weights.size()), 7);
  const std::vector<float> bias_before = random_rows<float>(1, s.out_channels, 8);
  const auto start = [&](const std::vector<float>& before) {
    return options.accumulate ? before : std::vector<float>(before.size(), NAN);
  };
  DeviceArray<float> dweights(start(weights_before)), dbias(start(bias_before));
  DeviceArray<unsigned char> workspace(
      kernels::conv2d_backward_weights_workspace_bytes<T>(s, options.multiprocessors, options.tile));
  kernels::conv2d_backward_weights<T>({dweights.data(), dbias.data(), problem.device_x.data(),
                                       problem.device_dy.data(), workspace.data(), options.accumulate},
                                      s, options.multiprocessors, nullptr, options.tile);
  std::vector<double> expected(problem.weights.size()), expected_bias(problem.bias.size());
  reference::conv2d_backward_weights<double>(expected.data(), nullptr, operands<T>(problem.x).data(),
                                             operands<T>(problem.dy).data(), reference_shape(s));
  for (std::size_t i = 0; i < problem.dy.size(); ++i)  // not rounded to tf32
    expected_bias[i % static_cast<std::size_t>(s.out_channels)] += problem.dy[i];
  for (std::size_t i = 0; options.accumulate && i < expected.size(); ++i) expected[i] += weights_before[i];
  for (std::size_t i = 0; options.accumulate && i < expected_bias.size(); ++i)
    expected_bias[i] += bias_before[i];
  const double error = sum_error(static_cast<double>(s.out_pixels()));
  expect_near(dweights.to_host(), expected, 1e-6, error, "dweights");
  expect_near(dbias.to_host(), expected_bias, 1e-6, error, "dbias");
}

/// All passes of one shape.
template <typename T>
void check_conv2d_passes(const kernels::Conv2dShape& s) {
  SCOPED_TRACE(::testing::Message() << s.batch << "x" << s.in_h << "x" << s.in_w << "x" << s.in_channels
                                    << " to " << s.out_channels << ", kernel " << s.kernel_h << "x"
                                    << s.kernel_w << ", stride " << s.stride_h << "x" << s.stride_w
                                    << ", padding " << s.pad_h << "x" << s.pad_w);
  check_forward<T>(s);
  if (s.in_pitch % kernels::kVectorSize<T> == 0) check_backward_data<T>(s);
  check_backward_weights<T>(s);
}

}  // namespace trireme::test
