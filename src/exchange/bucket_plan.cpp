// SPDX-License-Identifier: Apache-2.0
#include "src/exchange/bucket_plan.h"

#include <algorithm>

#include "src/core/error.h"
#include "src/core/hash.h"

namespace trireme {
namespace {

constexpr std::size_t kAlignment = 64;  // elements: 256 bytes, as parameters are aligned

std::size_t aligned_elements(std::size_t bytes) {
  return std::max(bytes / sizeof(float) / kAlignment * kAlignment, kAlignment);
}

/// Index of the last entry that begins before `at`.
std::size_t last_entry_before(const FlatLayout& layout, std::size_t at) {
  const auto begins_before = [](const FlatLayout::Entry& entry, std::size_t offset) {
    return entry.offset < offset;
  };
  const auto next = std::lower_bound(layout.entries.begin(), layout.entries.end(), at, begins_before);
  return static_cast<std::size_t>(next - layout.entries.begin()) - 1;
}

}  // namespace

BucketPlan::BucketPlan(const Graph& graph, const FlatLayout& layout, std::size_t bucket_bytes) {
  TRIREME_ASSERT(layout.elements % kAlignment == 0, "the flat buffer is a whole number of 256-byte units");
  const std::size_t usual = aligned_elements(bucket_bytes);
  const auto name = [&](std::size_t entry) { return graph.parameter(layout.entries[entry].parameter).name; };
  for (std::size_t begin = 0; begin < layout.elements;) {
    // The first is short, so that the wire has work soon.
    const std::size_t size = begin == 0 ? aligned_elements(bucket_bytes / 4) : usual;
    const ElementRange range{begin, std::min(begin + size, layout.elements)};
    const std::size_t first = last_entry_before(layout, range.begin + 1);
    const std::size_t last = last_entry_before(layout, range.end);
    const std::string names = first == last ? name(first) : fmt::format("{} .. {}", name(first), name(last));
    buckets.push_back({range, last, fmt::format("bucket {} ({})", buckets.size(), names)});
    begin = range.end;
  }
}

std::uint64_t BucketPlan::hash() const {
  Hasher hasher;
  for (const Bucket& bucket : buckets) {
    const std::uint64_t numbers[] = {bucket.range.begin, bucket.range.end, bucket.last_entry};
    hasher.add(numbers, sizeof numbers).add_text(bucket.label);
  }
  return hasher.digest();
}

}  // namespace trireme
