// SPDX-License-Identifier: Apache-2.0
#include "src/comm/reduce.h"

#include <algorithm>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

/// What one type is added in, and back.
float widen(float value) {
  return value;
}
double widen(double value) {
  return value;
}
std::int64_t widen(std::int64_t value) {
  return value;
}
float widen(BFloat16 value) {
  return to_float(value);
}
float widen(Float16 value) {
  return to_float(value);
}
void store(float value, float& to) {
  to = value;
}
void store(double value, double& to) {
  to = value;
}
void store(std::int64_t value, std::int64_t& to) {
  to = value;
}
void store(float value, BFloat16& to) {
  to = to_bfloat16(value);
}
void store(float value, Float16& to) {
  to = to_float16(value);
}

/// Calls visit with a value of the element type.
template <typename Visit>
void with_type(DType type, const Visit& visit) {
  switch (type) {
    case DType::f32:
      return visit(float{});
    case DType::f64:
      return visit(double{});
    case DType::i64:
      return visit(std::int64_t{});
    case DType::bf16:
      return visit(BFloat16{});
    case DType::f16:
      return visit(Float16{});
    default:
      TRIREME_ASSERT(false, "a type that can be summed");
  }
}

}  // namespace

bool can_be_summed(DType type) {
  return type != DType::u8 && type != DType::i32;
}

std::byte* element_at(void* data, DType type, std::int64_t begin) {
  return static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * size_of(type);
}

const std::byte* element_at(const void* data, DType type, std::int64_t begin) {
  return static_cast<const std::byte*>(data) + static_cast<std::size_t>(begin) * size_of(type);
}

void add_into(DType type, void* into, const void* from, std::int64_t count) {
  add(type, into, into, from, count);
}

void add(DType type, void* sum, const void* a, const void* b, std::int64_t count) {
  with_type(type, [&]<typename T>(T /*type*/) {
    auto* to = static_cast<T*>(sum);
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    for (std::int64_t i = 0; i < count; ++i) store(widen(x[i]) + widen(y[i]), to[i]);
  });
}

void sum_to_all(DType type, std::span<const void* const> sources, std::span<void* const> targets,
                std::int64_t count) {
  with_type(type, [&]<typename T>(T /*type*/) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto sum = widen(static_cast<const T*>(sources[0])[i]);
      for (const void* source : sources.subspan(1)) sum += widen(static_cast<const T*>(source)[i]);
      for (void* target : targets) store(sum, static_cast<T*>(target)[i]);
    }
  });
}

PartRange part_of(std::int64_t count, int parts, int part, DType type) {
  const auto unit = static_cast<std::int64_t>(64 / size_of(type));
  const std::int64_t units = (count + unit - 1) / unit;
  const auto begin_of = [&](std::int64_t p) {
    return std::min(count, (units / parts * p + std::min<std::int64_t>(p, units % parts)) * unit);
  };
  return {begin_of(part), begin_of(part + 1)};
}

}  // namespace trireme
