// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/elementwise.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

template <typename T>
std::vector<float> floats_of(const DeviceArray<T>& array) {
  std::vector<float> values;
  for (const T value : array.to_host()) values.push_back(to_float(value));
  return values;
}
/// Rounded to T and back.
template <typename T>
std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = to_float(from_float<T>(value));
  return values;
}
/// The same numbers; NaN equals NaN.
void expect_same(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
        << i << ": " << actual[i] << " instead of " << expected[i];
}

template <typename T>
class Elementwise : public testing::Test {
 protected:
  /// Random numbers, an exact zero, infinity and NaN among them, with zeros as pad channels have them.
  static std::vector<float> numbers(std::int64_t vectors, unsigned seed) {
    std::vector<float> values = test::random_rows<T>(vectors, kVectorSize<T>, seed);
    values[0] = 0;
    values[1] = std::numeric_limits<float>::infinity();
    values[2] = std::numeric_limits<float>::quiet_NaN();
    values[3] = -values[1];
    return values;
  }
  static DeviceArray<T> device(const std::vector<float>& values) {
    return DeviceArray<T>(test::with_pitch<T>(values, kVectorSize<T>, kVectorSize<T>));
  }
  /// Less than a block's vectors, exactly as many, some more.
  std::vector<std::int64_t> vector_counts = {1, 100, 512, 513, 1500};
};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(Elementwise, Types);

TYPED_TEST(Elementwise, ReluEqualsTheReferenceAlsoInPlace) {
  using T = TypeParam;
  for (const std::int64_t vectors : this->vector_counts) {
    const std::vector<float> x = this->numbers(vectors, 1);
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<float> y(x.size());
    reference::relu_forward(y.data(), x.data(), count);
    DeviceArray<T> device_x = this->device(x), device_y(x.size());
    relu_forward(device_y.data(), device_x.data(), count, nullptr);
    expect_same(floats_of(device_y), y);
    relu_forward(device_x.data(), device_x.data(), count, nullptr);
    expect_same(floats_of(device_x), y);
  }
}

TYPED_TEST(Elementwise, ReluBackwardEqualsTheReferenceAlsoInPlace) {
  using T = TypeParam;
  for (const std::int64_t vectors : this->vector_counts) {
    const std::vector<float> dy = this->numbers(vectors, 1);
    std::vector<float> y = this->numbers(vectors, 2);
    const auto count = static_cast<std::int64_t>(y.size());
    reference::relu_forward(y.data(), y.data(), count);  // zeros beside gradients that are not
    std::vector<float> dx(y.size());
    reference::relu_backward(dx.data(), dy.data(), y.data(), count);
    DeviceArray<T> device_dy = this->device(dy), device_y = this->device(y), device_dx(y.size());
    relu_backward(device_dx.data(), device_dy.data(), device_y.data(), count, nullptr);
    expect_same(floats_of(device_dx), dx);
    relu_backward(device_dy.data(), device_dy.data(), device_y.data(), count, nullptr);
    expect_same(floats_of(device_dy), dx);
  }
}

TYPED_TEST(Elementwise, AdditionEqualsTheReferenceAlsoInPlace) {
  using T = TypeParam;
  for (const std::int64_t vectors : this->vector_counts)
    for (const bool relu : {false, true}) {
      const std::vector<float> a = this->numbers(vectors, 1), b = this->numbers(vectors, 2);
      const auto count = static_cast<std::int64_t>(a.size());
      std::vector<float> z(a.size());
      reference::add_forward(z.data(), a.data(), b.data(), count);
      if (relu) reference::relu_forward(z.data(), z.data(), count);
      z = rounded<T>(z);
      DeviceArray<T> device_a = this->device(a), device_b = this->device(b), device_z(a.size());
      add_forward(device_z.data(), device_a.data(), device_b.data(), relu, count, nullptr);
      expect_same(floats_of(device_z), z);
      add_forward(device_b.data(), device_a.data(), device_b.data(), relu, count, nullptr);
      expect_same(floats_of(device_b), z);
    }
}

TYPED_TEST(Elementwise, FillWritesAsManyAsAsked) {
  using T = TypeParam;
  for (const std::int64_t count : {0, 1, 7, 8, 9, 2048, 2049, 5003}) {
    DeviceArray<T> array(std::vector<T>(static_cast<std::size_t>(count) + 9, from_float<T>(-1.0F)));
    fill(array.data(), 0.3F, count, nullptr);
    const std::vector<float> values = floats_of(array);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], static_cast<std::int64_t>(i) < count ? to_float(from_float<T>(0.3F)) : -1.0F) << i;
  }
}

TYPED_TEST(Elementwise, CountsThatLeaveARestAreRefused) {
  DeviceArray<TypeParam> array(16);
  EXPECT_THROW(relu_forward(array.data(), array.data(), 9, nullptr), std::invalid_argument);
  EXPECT_THROW(fill(array.data(), 0, -1, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
