// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/pool2d/pool2d.h"
#include "kernels/reference/pool2d.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/expect_rounded.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::test {

constexpr double kPoolSlack = 2e-6;  ///< sums of some dozen numbers up to 1 in fp32

/// Activations on the device, unset if without values.
template <typename T>
struct Pictures {
  Pictures(const std::vector<float>& dense, std::int64_t channels, std::int64_t with)
      : channels_(channels), pitch_(with), array(with_pitch<T>(dense, channels, with)) {}
  Pictures(std::int64_t rows, std::int64_t channels, std::int64_t with)
      : channels_(channels), pitch_(with), array(static_cast<std::size_t>(rows * with)) {}

  T* data() { return array.data(); }
  std::vector<float> dense() const {
    bool pad_is_zero = true;
    std::vector<float> values = without_pitch(array.to_host(), channels_, pitch_, pad_is_zero);
    EXPECT_TRUE(pad_is_zero);
    return values;
  }

 private:
  std::int64_t channels_, pitch_;

 public:
  DeviceArray<T> array;
};

/// Pooling by fixed windows of random pictures, with `extra_vectors` more of pitch than needed.
template <typename T>
struct PoolCase {
  PoolCase(const reference::PoolShape& shape, int extra_vectors)
      : s(shape),
        pitch(pitch_of<T>(s.channels) + extra_vectors * kernels::kVectorSize<T>),
        in_rows(s.batch * s.in_h * s.in_w),
        out_rows(s.batch * s.out_h() * s.out_w()),
        x(random_rows<T>(in_rows, s.channels, 1)),
        dy(random_rows<T>(out_rows, s.channels, 2)) {}

  kernels::Pool2dShape device_shape() const {
    const auto i = [](std::int64_t value) { return static_cast<int>(value); };
    return {i(s.batch),    i(s.in_h),     i(s.in_w),     i(pitch),   i(s.kernel_h),
            i(s.kernel_w), i(s.stride_h), i(s.stride_w), i(s.pad_h), i(s.pad_w)};
  }

  /// The place in its window that the kernel stores for the reference's place in the picture.
  std::uint8_t place_in_window(std::int64_t out_row, std::int64_t place) const {
    const std::int64_t oh = out_row / s.out_w() % s.out_h(), ow = out_row % s.out_w();
    const std::int64_t row = place / s.in_w - (oh * s.stride_h - s.pad_h);
    const std::int64_t column = place % s.in_w - (ow * s.stride_w - s.pad_w);
    return static_cast<std::uint8_t>(row * s.kernel_w + column);
  }

  void expect_max() const {
    std::vector<float> y(dy.size());
    std::vector<double> dx(x.size());
    std::vector<std::int64_t> places(dy.size());
    reference::max_pool_forward(y.data(), places.data(), x.data(), s);
    const std::vector<double> wide_dy = widen(dy);
    reference::max_pool_backward(dx.data(), wide_dy.data(), places.data(), s);

    Pictures<T> device_x(x, s.channels, pitch), device_y(out_rows, s.channels, pitch);
    Pictures<T> inference_y(out_rows, s.channels, pitch);
    Pictures<T> device_dy(dy, s.channels, pitch), device_dx(in_rows, s.channels, pitch);
    DeviceArray<std::uint8_t> device_places(static_cast<std::size_t>(out_rows * pitch));
    kernels::max_pool2d_forward(device_y.data(), device_places.data(), device_x.data(), device_shape(),
                                nullptr);
    kernels::max_pool2d_forward<T>(inference_y.data(), nullptr, device_x.data(), device_shape(), nullptr);
    kernels::max_pool2d_backward(device_dx.data(), device_dy.data(), device_places.data(), device_shape(),
                                 nullptr);

    const std::vector<float> made = device_y.dense(), made_again = inference_y.dense();
    const std::vector<std::uint8_t> made_places = device_places.to_host();
    for (std::int64_t row = 0; row < out_rows; ++row)
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const auto i = static_cast<std::size_t>(row * s.channels + c);
        ASSERT_TRUE(made[i] == y[i] || (std::isnan(made[i]) && std::isnan(y[i]))) << i;
        ASSERT_TRUE(made_again[i] == y[i] || (std::isnan(made_again[i]) && std::isnan(y[i]))) << i;
        ASSERT_EQ(made_places[static_cast<std::size_t>(row * pitch + c)], place_in_window(row, places[i]))
            << i;
      }
    expect_rounded<T>(device_dx.dense(), dx, kPoolSlack, "dx");
  }

  void expect_average(bool count_include_pad) const {
    std::vector<double> y(dy.size()), dx(x.size());
    const std::vector<double> wide_x = widen(x), wide_dy = widen(dy);
    reference::avg_pool_forward(y.data(), wide_x.data(), s, count_include_pad);
    reference::avg_pool_backward(dx.data(), wide_dy.data(), s, count_include_pad);

    Pictures<T> device_x(x, s.channels, pitch), device_y(out_rows, s.channels, pitch);
    Pictures<T> device_dy(dy, s.channels, pitch), device_dx(in_rows, s.channels, pitch);
    kernels::avg_pool2d_forward(device_y.data(), device_x.data(), device_shape(), count_include_pad, nullptr);
    kernels::avg_pool2d_backward(device_dx.data(), device_dy.data(), device_shape(), count_include_pad,
                                 nullptr);
    expect_rounded<T>(device_y.dense(), y, kPoolSlack, "y");
    expect_rounded<T>(device_dx.dense(), dx, kPoolSlack, "dx");
  }

  reference::PoolShape s;
  std::int64_t pitch, in_rows, out_rows;
  std::vector<float> x, dy;
};

template <typename T>
void expect_adaptive_average(const reference::AdaptiveAvgPoolShape& s, int extra_vectors) {
  const std::int64_t pitch = pitch_of<T>(s.channels) + extra_vectors * kernels::kVectorSize<T>;
  const std::int64_t in_rows = s.batch * s.in_h * s.in_w, out_rows = s.batch * s.out_h * s.out_w;
  const std::vector<float> x = random_rows<T>(in_rows, s.channels, 1),
                           dy = random_rows<T>(out_rows, s.channels, 2);
  const std::vector<double> wide_x = widen(x), wide_dy = widen(dy);
  std::vector<double> y(dy.size()), dx(x.size());
  reference::adaptive_avg_pool_forward(y.data(), wide_x.data(), s);
  reference::adaptive_avg_pool_backward(dx.data(), wide_dy.data(), s);

  const auto i = [](std::int64_t value) { return static_cast<int>(value); };
  const kernels::AdaptivePool2dShape shape{i(s.batch), i(s.in_h),  i(s.in_w),
                                           i(s.out_h), i(s.out_w), i(pitch)};
  Pictures<T> device_x(x, s.channels, pitch), device_y(out_rows, s.channels, pitch);
  Pictures<T> device_dy(dy, s.channels, pitch), device_dx(in_rows, s.channels, pitch);
  kernels::adaptive_avg_pool2d_forward(device_y.data(), device_x.data(), shape, nullptr);
  kernels::adaptive_avg_pool2d_backward(device_dx.data(), device_dy.data(), shape, nullptr);
  expect_rounded<T>(device_y.dense(), y, kPoolSlack, "y");
  expect_rounded<T>(device_dx.dense(), dx, kPoolSlack, "dx");
}

}  // namespace trireme::test
