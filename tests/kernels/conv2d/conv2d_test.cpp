// SPDX-License-Identifier: Apache-2.0
// Small shapes that meet every border of the kernels: of the picture, of tiles, of channels and of parts.
#include "tests/kernels/conv2d/conv2d_problem.h"

namespace trireme::test {
namespace {

using kernels::Conv2dShape;
using kernels::TileShape;

template <typename T>
class Conv2d : public ::testing::Test {};
TYPED_TEST_SUITE(Conv2d, ProductTypes);

TYPED_TEST(Conv2d, HasKernelsOfEverySize) {
  for (const std::int64_t kernel : {1, 2, 3, 5, 7})
    check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 6, 5, 9, kernel, 1, kernel / 2)));
}

TYPED_TEST(Conv2d, StepsByAnyStride) {
  for (const std::int64_t stride : {2, 3})
    for (const std::int64_t kernel : {1, 3})
      check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(2, 7, 8, 6, kernel, stride, kernel / 2)));
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 8, 4, 8, 5, 4, 2)));
}

TYPED_TEST(Conv2d, StepsBeyondThePicture) {
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(2, 3, 8, 8, 1, 5, 0)));
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>({1, 3, 5, 3, 4, 2, 3, 9, 7, 1, 2}));
}

TYPED_TEST(Conv2d, HasOtherHeightThanWidth) {
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>({2, 5, 9, 3, 10, 3, 1, 1, 2, 1, 0}));
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>({1, 9, 4, 10, 3, 1, 4, 2, 1, 0, 2}));
}

TYPED_TEST(Conv2d, PadsBeyondTheKernel) {
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 4, 3, 5, 3, 1, 5)));
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 3, 3, 5, 1, 2, 2)));
  check_conv2d_passes<TypeParam>(
      shape_of<TypeParam>(square(1, 2, 4, 4, 7, 1, 3)));  // larger than the picture
}

TYPED_TEST(Conv2d, TakesAnyNumberOfChannels) {
  for (const std::int64_t channels : {1, 3, 17, 24, 65})
    check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 4, channels, 66 - channels, 3, 1, 1)));
}

TYPED_TEST(Conv2d, TakesPitchesBeyondTheNearest) {
  Conv2dShape shape = shape_of<TypeParam>(square(1, 5, 3, 6, 3, 1, 1));
  shape.in_pitch += 8;
  shape.out_pitch += 64;
  check_conv2d_passes<TypeParam>(shape);
}

TYPED_TEST(Conv2d, TakesOnePixel) {
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(1, 1, 1, 1, 1, 1, 0)));
  check_conv2d_passes<TypeParam>(shape_of<TypeParam>(square(3, 1, 20, 40, 3, 1, 1)));
}

TYPED_TEST(Conv2d, OfNoPicturesGivesNothing) {
  const Conv2dShape shape = shape_of<TypeParam>(square(0, 5, 3, 6, 3, 1, 1));
  check_conv2d_passes<TypeParam>(shape);
  check_backward_weights<TypeParam>(shape, {.accumulate = true});
}

TYPED_TEST(Conv2d, CombinesBiasResidualAndRelu) {
  const Conv2dShape shape = shape_of<TypeParam>(square(2, 5, 6, 11, 3, 1, 1));
  for (int bits = 0; bits < 8; ++bits)
    check_forward<TypeParam>(shape,
                             {.bias = (bits & 1) != 0, .residual = (bits & 2) != 0, .relu = (bits & 4) != 0});
}

TYPED_TEST(Conv2d, AddsAnotherGradientOfTheInput) {
  check_backward_data<TypeParam>(shape_of<TypeParam>(square(2, 5, 11, 6, 3, 1, 1)), {.addend = true});
  check_backward_data<TypeParam>(shape_of<TypeParam>(square(2, 5, 11, 6, 1, 2, 0)),
                                 {.addend = true});  // phases without taps
}

TYPED_TEST(Conv2d, StopsGradientsWhereAReluGaveZero) {
  const Conv2dShape shape = shape_of<TypeParam>(square(2, 5, 11, 6, 3, 2, 1));
  check_backward_data<TypeParam>(shape, {.relu = true});
  check_backward_data<TypeParam>(shape, {.addend = true, .relu = true});
}

TYPED_TEST(Conv2d, AddsToGradientsOfWeights) {
  for (const std::int64_t channels : {1, 6})
    for (const int multiprocessors : {1, 64})
      check_backward_weights<TypeParam>(shape_of<TypeParam>(square(9, 9, channels, 5, 3, 1, 1)),
                                        {.accumulate = true, .multiprocessors = multiprocessors});
}

TYPED_TEST(Conv2d, CutsPixelsIntoPartsWithRemainders) {
  // 847 pixels: 14 steps of 64 or 27 of 32.
  const Conv2dShape shape = shape_of<TypeParam>(square(7, 11, 9, 10, 3, 1, 1));
  EXPECT_GT(kernels::conv2d_backward_weights_splits<TypeParam>(shape, 64), 2);
  EXPECT_EQ(kernels::conv2d_backward_weights_splits<TypeParam>(shape, 0), 1);
  for (const int multiprocessors : {1, 2, 64})
    check_backward_weights<TypeParam>(shape, {.multiprocessors = multiprocessors});
}

TYPED_TEST(Conv2d, GivesTheSameWithEveryTile) {
  const Conv2dShape shape = shape_of<TypeParam>(square(1, 9, 68, 140, 3, 2, 1));
  const Conv2dShape narrow = shape_of<TypeParam>(square(1, 13, 7, 12, 3, 1, 1));
  for (const TileShape tile :
       {TileShape::t128x128, TileShape::t128x64, TileShape::t64x64, TileShape::t64x32}) {
    if (!kernels::has_tile(kernels::kArithmetic<TypeParam>, tile)) continue;
    SCOPED_TRACE(kernels::tile_name(tile));
    check_forward<TypeParam>(shape, {.bias = true, .residual = true, .relu = true, .tile = tile});
    check_backward_data<TypeParam>(shape, {.addend = true, .relu = true, .tile = tile});
    check_backward_weights<TypeParam>(narrow, {.multiprocessors = 2, .tile = tile});
    check_backward_weights<TypeParam>(shape, {.multiprocessors = 0, .tile = tile});
  }
}

TYPED_TEST(Conv2d, RefusesTilesThatAreNotBuiltForIt) {
  if (kernels::has_tile(kernels::kArithmetic<TypeParam>, TileShape::t128x64)) return;
  EXPECT_THROW(check_forward<TypeParam>(shape_of<TypeParam>(square(1, 2, 4, 4, 1, 1, 0)),
                                        {.tile = TileShape::t128x64}),
               std::invalid_argument);
}

TYPED_TEST(Conv2d, RefusesImpossibleShapes) {
  const auto refuses = [](auto change) {
    Conv2dShape shape = shape_of<TypeParam>(square(1, 4, 4, 4, 3, 1, 0));
    change(shape);
    EXPECT_THROW(kernels::conv2d_forward<TypeParam>({nullptr, nullptr, nullptr}, shape, nullptr),
                 std::invalid_argument);
  };
  refuses([](Conv2dShape& s) { s.kernel_h = 5; });
  refuses([](Conv2dShape& s) { s.stride_w = 0; });
  refuses([](Conv2dShape& s) { s.pad_w = -1; });
  refuses([](Conv2dShape& s) { s.out_pitch += 1; });
  refuses([](Conv2dShape& s) { s.in_channels = 100; });
  refuses([](Conv2dShape& s) { s.in_h = 40000; });
  refuses([](Conv2dShape& s) { s.batch = std::int64_t{1} << 31; });
}

// Pixels of four channels, which tensor types of 16 bits keep in 8 bytes.
template <typename T>
class Conv2dStem : public ::testing::Test {};
using StemTypes = ::testing::Types<simt::BFloat16, simt::Half>;
TYPED_TEST_SUITE(Conv2dStem, StemTypes);

template <typename T>
Conv2dShape stem_of(const Dimensions& d) {
  Conv2dShape shape = shape_of<T>(d);
  shape.in_pitch = 4;
  return shape;
}

TYPED_TEST(Conv2dStem, TakesHalfVectors) {
  check_conv2d_passes<TypeParam>(stem_of<TypeParam>(square(2, 13, 3, 10, 7, 2, 3)));
  check_conv2d_passes<TypeParam>(stem_of<TypeParam>(square(1, 9, 3, 40, 3, 1, 1)));
  check_conv2d_passes<TypeParam>(stem_of<TypeParam>(square(1, 5, 4, 8, 2, 3, 0)));
  check_conv2d_passes<TypeParam>(stem_of<TypeParam>({1, 5, 6, 1, 8, 1, 5, 2, 1, 2, 3}));
}

TYPED_TEST(Conv2dStem, GivesTheSameWithEveryTile) {
  const Conv2dShape shape = stem_of<TypeParam>(square(1, 13, 3, 20, 7, 2, 3));
  for (const TileShape tile :
       {TileShape::t128x128, TileShape::t128x64, TileShape::t64x64, TileShape::t64x32}) {
    check_forward<TypeParam>(shape, {.bias = true, .relu = true, .tile = tile});
    check_backward_weights<TypeParam>(shape, {.accumulate = true, .tile = tile});
  }
}

TYPED_TEST(Conv2dStem, HasNoGradientForItsInput) {
  EXPECT_THROW(check_backward_data<TypeParam>(stem_of<TypeParam>(square(1, 5, 3, 8, 3, 1, 1))),
               std::invalid_argument);
}

}  // namespace
}  // namespace trireme::test
