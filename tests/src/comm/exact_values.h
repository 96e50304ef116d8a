// SPDX-License-Identifier: Apache-2.0
// Numbers that ranks contribute in tests: small integers, whose sums over up to eight ranks are exact in
// every type, 16-bit ones included.
#pragma once

#include <cstdint>
#include <vector>

#include "src/core/half.h"
#include "src/core/tensor.h"

namespace trireme::testing_support {

template <typename T>
T as_type(int value) {
  return static_cast<T>(value);
}
template <>
inline BFloat16 as_type(int value) {
  return to_bfloat16(static_cast<float>(value));
}
template <>
inline Float16 as_type(int value) {
  return to_float16(static_cast<float>(value));
}

/// What rank `rank` contributes at element `i`: 1 to 29.
inline int exact_value(int rank, std::int64_t i) {
  return static_cast<int>((i * 7 + rank * 13) % 29) + 1;
}

template <typename T>
std::vector<T> exact_values(int rank, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = as_type<T>(exact_value(rank, first + i));
  return values;
}

template <typename T>
std::vector<T> exact_sums(int ranks, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> sums(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += exact_value(rank, first + i);
    sums[static_cast<std::size_t>(i)] = as_type<T>(sum);
  }
  return sums;
}

template <typename T>
Tensor tensor_of(std::vector<T>& values) {
  return row_of(values.data(), std::ssize(values));
}

}  // namespace trireme::testing_support
