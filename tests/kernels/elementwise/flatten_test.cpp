// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/elementwise/elementwise.h"
#include "kernels/reference/linear.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

template <typename T>
void expect_flatten(int batch, int pixels, int channels, int extra_vectors) {
  const int features = pixels * channels;
  const int extra = extra_vectors * kVectorSize<T>;
  const FlattenShape shape{batch, pixels, channels, static_cast<int>(test::pitch_of<T>(channels)) + extra,
                           static_cast<int>(test::pitch_of<T>(features)) + extra};
  const std::vector<float> x = test::random_rows<T>(batch * pixels, channels, 1);
  std::vector<float> y(x.size());
  reference::flatten_forward(y.data(), x.data(), batch, pixels, 1, channels);

  const auto padded_pictures = static_cast<std::size_t>(batch * pixels * shape.pitch);
  const auto padded_features = static_cast<std::size_t>(batch * shape.feature_pitch);
  const test::DeviceArray<T> device_x(test::with_pitch<T>(x, channels, shape.pitch));
  test::DeviceArray<T> device_y(padded_features), back(padded_pictures);
  flatten_forward(device_y.data(), device_x.data(), shape, nullptr);
  flatten_backward(back.data(), device_y.data(), shape, nullptr);
  bool pad_is_zero = true;
  EXPECT_EQ(test::without_pitch(device_y.to_host(), features, shape.feature_pitch, pad_is_zero), y);
  EXPECT_EQ(test::without_pitch(back.to_host(), channels, shape.pitch, pad_is_zero), x);
  EXPECT_TRUE(pad_is_zero);
}

template <typename T>
class Flatten : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(Flatten, Types);

TYPED_TEST(Flatten, OrdersByChannelAndBackAgain) {
  for (const int extra_vectors : {0, 1}) {
    expect_flatten<TypeParam>(1, 1, 1, extra_vectors);
    expect_flatten<TypeParam>(3, 1, 10, extra_vectors);  // nothing to reorder
    expect_flatten<TypeParam>(2, 35, 3, extra_vectors);  // more pixels than a tile
    expect_flatten<TypeParam>(2, 32, 64, extra_vectors);
    expect_flatten<TypeParam>(2, 49, 70, extra_vectors);  // more channels than a tile
  }
}

TYPED_TEST(Flatten, PitchesThatAreTooSmallAreRefused) {
  TypeParam* none = nullptr;
  EXPECT_THROW(flatten_forward(none, none, {1, 4, 9, 8, 40}, nullptr), std::invalid_argument);
  EXPECT_THROW(flatten_forward(none, none, {1, 4, 9, 16, 32}, nullptr), std::invalid_argument);
  EXPECT_THROW(flatten_backward(none, none, {1, 4, 9, 18, 40}, nullptr), std::invalid_argument);
}

template <typename T>
class LayersFlatten : public testing::Test {};
TYPED_TEST_SUITE(LayersFlatten, Types);

TYPED_TEST(LayersFlatten, OfVgg16) {
  expect_flatten<TypeParam>(2, 7 * 7, 512, 0);
}

}  // namespace
}  // namespace trireme::kernels
