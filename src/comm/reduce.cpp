// SPDX-License-Identifier: Apache-2.0
// Sums are limited by memory, so what counts is that every source is read once and that a line is written
// while it is still in the nearest cache:
//
//      up to four sources    s0[block] + s1[block] + …  ->  t0[block]  ->  t1[block], t2[block], …
//      more                  the same with a block of wide sums in place of t0, to which source after source
//                            is added: t0 may be a source that is still to be read
//
// Stores that bypass the caches were measured too: they lose, since the targets are mostly the sources.
#include "src/comm/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/core/error.h"
#include "src/core/multiversion.h"

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

constexpr std::int64_t kBlockBytes = 8192;  // of every source and target at a time: a part of the first cache
constexpr std::size_t kFew = 4;

template <typename T>
using Wide = decltype(widen(T{}));

/// to[i] = s0[i] + … + sN-1[i]. `to` may be a source: an element is read before it is written.
template <typename T, std::size_t N>
TRIREME_MULTIVERSION_TEMPLATE void sum_few(T* to, const std::array<const T*, kFew> from, std::int64_t count) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) {
    Wide<T> sum = widen(from[0][i]);
    for (std::size_t s = 1; s < N; ++s) sum += widen(from[s][i]);
    store(sum, to[i]);
  }
}

template <typename T>
TRIREME_MULTIVERSION_TEMPLATE void widen_row(Wide<T>* to, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
}

template <typename T>
TRIREME_MULTIVERSION_TEMPLATE void add_row(Wide<T>* to, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += widen(from[i]);
}

template <typename T>
TRIREME_MULTIVERSION_TEMPLATE void store_row(T* to, const Wide<T>* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store(from[i], to[i]);
}

template <typename T>
void sum_few_of(T* to, std::span<const void* const> sources, std::int64_t begin, std::int64_t count) {
  std::array<const T*, kFew> from{};
  for (std::size_t s = 0; s < sources.size(); ++s) from[s] = static_cast<const T*>(sources[s]) + begin;
  switch (sources.size()) {
    case 1:
      return sum_few<T, 1>(to, from, count);
    case 2:
      return sum_few<T, 2>(to, from, count);
    case 3:
      return sum_few<T, 3>(to, from, count);
    default:
      return sum_few<T, 4>(to, from, count);
  }
}

template <typename T>
void sum_many_of(T* to, std::span<const void* const> sources, std::int64_t begin, std::int64_t count) {
  std::array<Wide<T>, kBlockBytes / sizeof(T)> sums;
  widen_row(sums.data(), static_cast<const T*>(sources[0]) + begin, count);
  for (const void* source : sources.subspan(1))
    add_row(sums.data(), static_cast<const T*>(source) + begin, count);
  store_row(to, sums.data(), count);
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
    sum_few<T, 2>(static_cast<T*>(sum), {static_cast<const T*>(a), static_cast<const T*>(b)}, count);
  });
}

void sum_to_all(DType type, std::span<const void* const> sources, std::span<void* const> targets,
                std::int64_t count) {
  with_type(type, [&]<typename T>(T /*type*/) {
    constexpr std::int64_t kBlock = kBlockBytes / sizeof(T);
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t length = std::min(kBlock, count - begin);
      T* const first = static_cast<T*>(targets[0]) + begin;
      if (sources.size() <= kFew)
        sum_few_of(first, sources, begin, length);
      else
        sum_many_of(first, sources, begin, length);
      for (void* target : targets.subspan(1))
        std::memcpy(static_cast<T*>(target) + begin, first, static_cast<std::size_t>(length) * sizeof(T));
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
