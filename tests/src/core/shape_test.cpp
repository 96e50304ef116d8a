// SPDX-License-Identifier: Apache-2.0
#include "src/core/shape.h"

#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/core/tensor.h"

namespace trireme {
namespace {

TEST(Shape, CountsElementsAndPrintsItself) {
  const Shape shape{28, 28, 3};
  EXPECT_EQ(shape.count(), 28 * 28 * 3);
  EXPECT_EQ(shape.text(), "[28,28,3]");
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ(Shape{}.text(), "[]");
  EXPECT_EQ((Shape{4, 0, 2}.count()), 0);
}

TEST(Shape, PutsTheBatchInFront) {
  EXPECT_EQ((Shape{28, 28, 3}.with_outer(32)), (Shape{32, 28, 28, 3}));
  EXPECT_THROW((Shape{1, 2, 3, 4, 5}.with_outer(6)), Error);
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6}), Error);
}

TEST(Shape, DiffersByRankAndExtent) {
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
}

TEST(Tensor, KnowsItsBytes) {
  double values[6] = {};
  const Tensor row = row_of(values, 6);
  EXPECT_EQ(row.dtype, DType::f64);
  EXPECT_EQ(row.bytes(), 48U);
  EXPECT_EQ(row.as<double>(), values);
}

}  // namespace
}  // namespace trireme
