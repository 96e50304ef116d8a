// SPDX-License-Identifier: Apache-2.0
// Max pooling of what a ReLU gave: one backward pass in place of two.
#include <gtest/gtest.h>

#include "kernels/pool2d/pool2d.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/pool2d.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

template <typename T>
class MaxPoolAfterRelu : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(MaxPoolAfterRelu, Types);

TYPED_TEST(MaxPoolAfterRelu, GivesTheGradientOfWhatTheReluGot) {
  using T = TypeParam;
  const std::int64_t channels = 5, pitch = test::pitch_of<T>(channels);
  const Pool2dShape shape{2, 7, 6, static_cast<int>(pitch), 3, 2, 2, 2, 1, 1};
  const reference::PoolShape dense{2, 7, 6, channels, 3, 2, 2, 2, 1, 1};
  const std::int64_t in_rows = 2 * 7 * 6, out_rows = 2 * shape.out_h() * shape.out_w();

  std::vector<float> before = test::random_rows<T>(in_rows, channels, 1);
  for (float& value : before)
    value -= value > 0.5F ? 0.0F : 0.5F;  // mostly negative: windows without a positive element
  for (float& value : before) value = to_float(from_float<T>(value));
  std::vector<float> x(before.size()), pooled(static_cast<std::size_t>(out_rows * channels));
  reference::relu_forward(x.data(), before.data(), static_cast<std::int64_t>(x.size()));
  const std::vector<float> dy = test::random_rows<T>(out_rows, channels, 2);
  std::vector<std::int64_t> places(pooled.size());
  reference::max_pool_forward(pooled.data(), places.data(), x.data(), dense);
  std::vector<float> dx(x.size()), wanted(x.size());
  reference::max_pool_backward(dx.data(), dy.data(), places.data(), dense);
  reference::relu_backward(wanted.data(), dx.data(), x.data(), static_cast<std::int64_t>(x.size()));

  const test::DeviceArray<T> device_x(test::with_pitch<T>(x, channels, pitch));
  const test::DeviceArray<T> device_dy(test::with_pitch<T>(dy, channels, pitch));
  test::DeviceArray<T> y(static_cast<std::size_t>(out_rows * pitch)), gradient(device_x.size());
  test::DeviceArray<std::uint8_t> device_places(y.size());
  max_pool2d_forward(y.data(), device_places.data(), device_x.data(), shape, nullptr, true);
  max_pool2d_backward(gradient.data(), device_dy.data(), device_places.data(), shape, nullptr);

  bool pad_is_zero = true;
  EXPECT_EQ(test::without_pitch(y.to_host(), channels, pitch, pad_is_zero), pooled);
  const std::vector<float> made = test::without_pitch(gradient.to_host(), channels, pitch, pad_is_zero);
  EXPECT_TRUE(pad_is_zero);
  int without = 0;
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], wanted[i], 0.01F) << i;
  for (const float value : pooled) without += value == 0.0F ? 1 : 0;
  EXPECT_GT(without, 10);  // else nothing was tested
}

}  // namespace
}  // namespace trireme::kernels
