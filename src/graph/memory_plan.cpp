// SPDX-License-Identifier: Apache-2.0
// Packing by lifetime is two-dimensional bin packing with one side fixed. The heuristic: place blocks one
// after the other, large ones first, each at the lowest gap that fits between the blocks already placed whose
// lifetimes meet its own. The order of placing decides; a few natural orders are tried and the smallest arena
// is taken.
#include "src/graph/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace trireme {

namespace {

using Order = bool (*)(const MemoryInterval&, const MemoryInterval&);

bool larger(const MemoryInterval& a, const MemoryInterval& b) {
  return a.bytes > b.bytes;
}
bool longer(const MemoryInterval& a, const MemoryInterval& b) {
  return a.last - a.first > b.last - b.first;
}
bool larger_area(const MemoryInterval& a, const MemoryInterval& b) {
  const auto area = [](const MemoryInterval& i) {
    return static_cast<double>(i.bytes) * static_cast<double>(i.last - i.first + 1);
  };
  return area(a) > area(b);
}

constexpr Order kOrders[] = {larger, longer, larger_area};

bool meet(const MemoryInterval& a, const MemoryInterval& b) {
  return a.first <= b.last && b.first <= a.last;
}

MemoryPlan place_in_order(std::span<const MemoryInterval> intervals, const std::vector<std::size_t>& order) {
  MemoryPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  std::vector<std::size_t> placed;  // by ascending offset
  for (std::size_t i : order) {
    const std::size_t size = arena_aligned(intervals[i].bytes);
    std::size_t offset = 0;
    for (std::size_t other : placed) {
      if (!meet(intervals[i], intervals[other])) continue;
      if (plan.offsets[other] >= offset + size) break;
      offset = std::max(offset, plan.offsets[other] + arena_aligned(intervals[other].bytes));
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + size);
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::size_t value, std::size_t p) { return value < plan.offsets[p]; });
    placed.insert(at, i);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryInterval> intervals) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < intervals.size(); ++i)
    if (intervals[i].bytes > 0) order.push_back(i);
  MemoryPlan best{std::vector<std::size_t>(intervals.size(), 0), 0};
  if (order.empty()) return best;
  best.bytes = static_cast<std::size_t>(-1);
  for (Order before : kOrders) {
    std::vector<std::size_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::size_t a, std::size_t b) { return before(intervals[a], intervals[b]); });
    MemoryPlan plan = place_in_order(intervals, sorted);
    if (plan.bytes < best.bytes) best = std::move(plan);
  }
  return best;
}

std::size_t peak_bytes(std::span<const MemoryInterval> intervals) {
  std::map<int, std::pair<std::size_t, std::size_t>>
      changes;  // step -> bytes that begin there, bytes that ended
  for (const MemoryInterval& interval : intervals) {
    changes[interval.first].first += arena_aligned(interval.bytes);
    changes[interval.last + 1].second += arena_aligned(interval.bytes);
  }
  std::size_t in_use = 0, peak = 0;
  for (const auto& [step, change] : changes) {
    in_use = in_use + change.first - change.second;
    peak = std::max(peak, in_use);
  }
  return peak;
}

}  // namespace trireme
