// SPDX-License-Identifier: Apache-2.0
// The arithmetic of sum-collectives on host memory. Every function gives the same bits on every CPU. f32, f64
// and i64 are summed in their own type; bf16 and f16 in fp32, rounded once when the sum is stored.
#pragma once

#include <cstdint>
#include <span>

#include "src/core/tensor.h"

namespace trireme {

/// Whether collectives can sum it.
bool can_be_summed(DType type);

/// The pointer to element `begin` of a row of `type`.
std::byte* element_at(void* data, DType type, std::int64_t begin);
const std::byte* element_at(const void* data, DType type, std::int64_t begin);

/// into[i] += from[i]. The ranges do not overlap.
void add_into(DType type, void* into, const void* from, std::int64_t count);

/// sum[i] = a[i] + b[i]. `sum` may be `a` or `b`.
void add(DType type, void* sum, const void* a, const void* b, std::int64_t count);

/// Sums `sources` elementwise in their order, ((s0 + s1) + s2) + …, and stores the sum into every one of
/// `targets`, which may be the sources themselves. One pass: each source is read once.
void sum_to_all(DType type, std::span<const void* const> sources, std::span<void* const> targets,
                std::int64_t count);

/// Part `part` of `parts` of a row of `count` elements: parts differ by at most one unit of 64 bytes, the
/// larger ones first, so that no two ranks write to one cache line.
struct PartRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
PartRange part_of(std::int64_t count, int parts, int part, DType type);

}  // namespace trireme
