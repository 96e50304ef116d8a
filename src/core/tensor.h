// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/core/dtype.h"
#include "src/core/half.h"
#include "src/core/shape.h"

namespace trireme {

/// A non-owning view of dense elements: pointer, shape, element type. `Buffer` (src/device) owns memory.
struct Tensor {
  void* data = nullptr;
  Shape shape;
  DType dtype = DType::f32;

  std::int64_t count() const { return shape.count(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// A view of `count` elements in one row.
template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<unsigned char>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}

template <typename T>
Tensor row_of(T* data, std::int64_t count) {
  return Tensor{data, Shape{count}, dtype_of<T>()};
}

}  // namespace trireme
