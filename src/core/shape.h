// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace trireme {

/// Extents of a tensor, outermost first, at most kMaxRank of them. A value type without heap memory.
/// Logical order is NHWC for activations, OHWI for convolution weights, [out, in] for linear weights.
class Shape {
 public:
  static constexpr int kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return extents_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }

  /// Number of elements; 1 for rank 0.
  std::int64_t count() const;
  /// The same shape with `extent` put in front: [H,W,C] to [N,H,W,C].
  Shape with_outer(std::int64_t extent) const;
  /// "[32,28,28,16]"
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace trireme
