// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_emulated/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/half.h"

namespace trireme::emulated {
namespace {

/// Calls `visit` with a value of the type; false where there is none.
template <typename Visit>
bool with_type(ncclDataType_t type, const Visit& visit) {
  switch (type) {
    case ncclUint8:
      return visit(std::uint8_t{}), true;
    case ncclInt32:
      return visit(std::int32_t{}), true;
    case ncclInt64:
      return visit(std::int64_t{}), true;
    case ncclFloat16:
      return visit(Float16{}), true;
    case ncclBfloat16:
      return visit(BFloat16{}), true;
    case ncclFloat32:
      return visit(float{}), true;
    case ncclFloat64:
      return visit(double{}), true;
    default:
      return false;
  }
}

/// What arithmetic is done in: integers wrap around.
template <typename T>
auto widened(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  else if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return to_float(value);
}
template <typename T, typename Wide>
T narrowed(Wide value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(value);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(value);
  else
    return static_cast<T>(value);
}

template <typename T>
bool is_less(T a, T b) {
  if constexpr (std::is_arithmetic_v<T>)
    return a < b;
  else
    return to_float(a) < to_float(b);
}

template <typename T>
T combine(ncclRedOp_t operation, T a, T b) {
  switch (operation) {
    case ncclProd:
      return narrowed<T>(widened(a) * widened(b));
    case ncclMax:
      return is_less(a, b) ? b : a;
    case ncclMin:
      return is_less(b, a) ? b : a;
    default:
      return narrowed<T>(widened(a) + widened(b));
  }
}

template <typename T>
T divided(T sum, std::size_t by) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(sum) / static_cast<std::int64_t>(by));
  else
    return narrowed<T>(widened(sum) / static_cast<decltype(widened(sum))>(by));
}

template <typename T>
T element(const std::byte* values, std::size_t i) {
  T value;
  std::memcpy(&value, values + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  std::size_t size = 0;
  with_type(type, [&](auto value) { size = sizeof value; });
  return size;
}

bool is_emulated(ncclRedOp_t operation) {
  return operation >= ncclSum && operation <= ncclAvg;
}

void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const std::byte*>& parts,
            std::byte* to, std::size_t count) {
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    for (std::size_t i = 0; i < count; ++i) {
      T value = element<T>(parts[0], i);
      for (std::size_t part = 1; part < parts.size(); ++part)
        value = combine(operation, value, element<T>(parts[part], i));
      if (operation == ncclAvg) value = divided(value, parts.size());
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
  });
}

}  // namespace trireme::emulated
