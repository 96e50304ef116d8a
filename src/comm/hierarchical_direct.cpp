// SPDX-License-Identifier: Apache-2.0
#include "src/comm/hierarchical_direct.h"

#include <algorithm>
#include <cstring>

namespace trireme {
namespace {

constexpr std::size_t kPortionBytes = std::size_t{256} << 10;  // between two looks at the clock

}  // namespace

HierarchicalDirect::HierarchicalDirect(const HierarchicalJob& job)
    : job_(job),
      tensors_(static_cast<std::size_t>(job.local_size)),
      sources_(tensors_.size()),
      portion_(static_cast<std::int64_t>(kPortionBytes / size_of(job.tensor.dtype))) {}

PartRange HierarchicalDirect::next_portion(Walk& walk) const {
  const PartRange slice = job_.slice(walk.piece, job_.local);
  const std::int64_t begin = slice.begin + walk.done;
  return {begin, std::min(begin + portion_, slice.end)};
}

void HierarchicalDirect::gather_range(PartRange range) {
  const DType type = job_.tensor.dtype;
  void* const own = element_at(job_.tensor.data, type, range.begin);
  if (job_.sums) {
    for (std::size_t r = 0; r < tensors_.size(); ++r)
      sources_[r] = element_at(tensors_[r], type, range.begin);
    sum_to_all(type, sources_, {&own, 1}, range.size());
  } else if (job_.local != job_.local_root) {
    std::memcpy(own, element_at(tensors_[static_cast<std::size_t>(job_.local_root)], type, range.begin),
                static_cast<std::size_t>(range.size()) * size_of(type));
  }
}

bool HierarchicalDirect::gather(NodeWires& wires, const WorkBudget& budget) {
  for (; gathered_.piece < job_.pieces() && !budget.spent();) {
    const PartRange portion = next_portion(gathered_);
    if (job_.gathers() && portion.size() > 0) gather_range(portion);
    gathered_.done += portion.size();
    if (portion.end < job_.slice(gathered_.piece, job_.local).end && job_.gathers()) continue;
    wires.start(gathered_.piece);
    gathered_ = {gathered_.piece + 1, 0};
  }
  return gathered_.piece == job_.pieces();
}

void HierarchicalDirect::spread_range(PartRange range) const {
  const DType type = job_.tensor.dtype;
  const void* const own = element_at(job_.tensor.data, type, range.begin);
  for (int r = 0; r < job_.local_size; ++r) {
    const bool has_it = r == job_.local || r == job_.local_root;
    if (!has_it)
      std::memcpy(element_at(tensors_[static_cast<std::size_t>(r)], type, range.begin), own,
                  static_cast<std::size_t>(range.size()) * size_of(type));
  }
}

bool HierarchicalDirect::spread(const NodeWires& wires, const WorkBudget& budget) {
  while (spread_.piece < gathered_.piece && wires.done(spread_.piece) && !budget.spent()) {
    const PartRange portion = next_portion(spread_);
    if (job_.spreads() && portion.size() > 0) spread_range(portion);
    spread_.done += portion.size();
    if (portion.end < job_.slice(spread_.piece, job_.local).end && job_.spreads()) continue;
    spread_ = {spread_.piece + 1, 0};
  }
  return spread_.piece == job_.pieces();
}

}  // namespace trireme
