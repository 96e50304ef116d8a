// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool2d/pool2d.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/reference/pool2d.h"
#include "tests/kernels/pool2d/pool2d_case.h"

namespace trireme::kernels {
namespace {

using test::PoolCase;

/// Channels that do and do not fill a vector, windows that overlap, leave gaps, reach beyond the picture.
const std::vector<reference::PoolShape> kShapes = {
    {1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {2, 5, 7, 3, 3, 3, 2, 2, 1, 1},  {1, 6, 4, 8, 2, 2, 2, 2, 0, 0},
    {2, 4, 9, 7, 2, 3, 1, 4, 1, 0}, {1, 3, 3, 17, 3, 3, 5, 5, 1, 1}, {1, 2, 1, 9, 4, 2, 3, 1, 2, 1},
    {3, 1, 8, 2, 1, 5, 1, 3, 0, 2}, {1, 20, 3, 4, 17, 3, 1, 1, 8, 1}};

template <typename T>
class Pool2d : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(Pool2d, Types);

TYPED_TEST(Pool2d, MaxEqualsTheReference) {
  for (const reference::PoolShape& shape : kShapes)
    for (const int extra_vectors : {0, 2}) PoolCase<TypeParam>(shape, extra_vectors).expect_max();
}

TYPED_TEST(Pool2d, MaxOfEqualValuesIsTheFirst) {
  PoolCase<TypeParam> pool({1, 6, 6, 5, 3, 3, 2, 2, 1, 1}, 0);
  for (std::size_t i = 0; i < pool.x.size(); ++i) pool.x[i] = static_cast<float>(i / 7 % 3);
  pool.expect_max();
  for (float& value : pool.x) value = -std::numeric_limits<float>::infinity();
  pool.expect_max();
}

TYPED_TEST(Pool2d, MaxOfAWindowWithNaNIsNaN) {
  PoolCase<TypeParam> pool({1, 5, 5, 3, 3, 2, 1, 1, 1, 0}, 0);
  for (std::size_t i = 0; i < pool.x.size(); i += 11) pool.x[i] = std::numeric_limits<float>::quiet_NaN();
  pool.expect_max();
}

TYPED_TEST(Pool2d, AverageEqualsTheReference) {
  for (const reference::PoolShape& shape : kShapes)
    for (const bool count_include_pad : {true, false})
      PoolCase<TypeParam>(shape, 1).expect_average(count_include_pad);
}

TYPED_TEST(Pool2d, AdaptiveAverageEqualsTheReference) {
  using Shape = reference::AdaptiveAvgPoolShape;
  for (const Shape& shape : {Shape{1, 1, 1, 1, 1, 1}, Shape{2, 7, 7, 9, 1, 1}, Shape{2, 5, 7, 3, 3, 2},
                             Shape{1, 2, 3, 8, 4, 5}, Shape{1, 6, 4, 7, 6, 4}, Shape{3, 1, 10, 2, 1, 3}})
    test::expect_adaptive_average<TypeParam>(shape, 1);
}

TYPED_TEST(Pool2d, ShapesWithoutAMeaningAreRefused) {
  using T = TypeParam;
  T* none = nullptr;
  const int pitch = kVectorSize<T>;
  EXPECT_THROW(max_pool2d_forward(none, nullptr, none, {1, 4, 4, pitch, 2, 2, 1, 1, 2, 0}, nullptr),
               std::invalid_argument);  // windows beside the picture
  EXPECT_THROW(max_pool2d_forward(none, nullptr, none, {1, 4, 4, pitch, 5, 2, 1, 1, 0, 0}, nullptr),
               std::invalid_argument);  // larger than the picture
  EXPECT_THROW(max_pool2d_forward(none, nullptr, none, {1, 16, 16, pitch, 16, 16, 1, 1, 0, 0}, nullptr),
               std::invalid_argument);  // more places than a byte has
  EXPECT_THROW(avg_pool2d_forward(none, none, {1, 4, 4, pitch + 1, 2, 2, 1, 1, 0, 0}, true, nullptr),
               std::invalid_argument);
  EXPECT_THROW(adaptive_avg_pool2d_forward(none, none, {1, 4, 4, 0, 2, pitch}, nullptr),
               std::invalid_argument);
}

template <typename T>
class LayersPool2d : public testing::Test {};
TYPED_TEST_SUITE(LayersPool2d, Types);

TYPED_TEST(LayersPool2d, OfResNet50AndVgg16) {
  PoolCase<TypeParam>({2, 14, 14, 64, 3, 3, 2, 2, 1, 1}, 0).expect_max();   // behind ResNet's stem
  PoolCase<TypeParam>({2, 14, 14, 512, 2, 2, 2, 2, 0, 0}, 0).expect_max();  // VGG's last
  test::expect_adaptive_average<TypeParam>({2, 7, 7, 2048, 1, 1}, 0);
  test::expect_adaptive_average<TypeParam>({1, 10, 14, 512, 7, 7}, 0);
}

}  // namespace
}  // namespace trireme::kernels
