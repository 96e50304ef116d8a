// SPDX-License-Identifier: Apache-2.0
#include "src/core/shape.h"

#include <fmt/ranges.h>

#include "src/core/error.h"

namespace trireme {

Shape::Shape(std::initializer_list<std::int64_t> extents) {
  TRIREME_ASSERT(extents.size() <= kMaxRank, "a shape has at most five extents");
  for (std::int64_t extent : extents) extents_[static_cast<std::size_t>(rank_++)] = extent;
}

std::int64_t Shape::count() const {
  std::int64_t product = 1;
  for (std::int64_t extent : *this) product *= extent;
  return product;
}

Shape Shape::with_outer(std::int64_t extent) const {
  TRIREME_ASSERT(rank_ < kMaxRank, "a shape has at most five extents");
  Shape result;
  result.rank_ = rank_ + 1;
  result.extents_[0] = extent;
  for (int axis = 0; axis < rank_; ++axis) result[axis + 1] = (*this)[axis];
  return result;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(begin(), end(), ","));
}

}  // namespace trireme
