// SPDX-License-Identifier: Apache-2.0
#include "src/graph/flat_layout.h"

#include "src/core/error.h"

namespace trireme {

namespace {

constexpr std::size_t kAlignment = 256 / sizeof(float);  // in elements

constexpr std::size_t aligned(std::size_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

// Backward visits the nodes in reverse, so a parameter's gradient is final once the node that uses it first
// in forward order is done. Walking forward and remembering first uses, then reading that list node by node
// from the end, gives the order; within a node parameters keep theirs.
FlatLayout::FlatLayout(const Graph& graph) {
  const std::size_t count = graph.parameters().size();
  constexpr std::size_t kUnset = static_cast<std::size_t>(-1);
  std::vector<bool> seen(count);
  std::vector<std::vector<ParamId>> first_used(graph.nodes().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    for (ParamId p : graph.nodes()[n].parameters) {
      if (!seen[static_cast<std::size_t>(p)]) first_used[n].push_back(p);
      seen[static_cast<std::size_t>(p)] = true;
    }
  }
  entry_of.assign(count, kUnset);
  for (auto node = first_used.rbegin(); node != first_used.rend(); ++node) {
    for (ParamId p : *node) {
      const auto size = static_cast<std::size_t>(graph.parameter(p).shape.count());
      entry_of[static_cast<std::size_t>(p)] = entries.size();
      entries.push_back({p, elements, size});
      elements += aligned(size);
    }
  }
  TRIREME_ASSERT(entries.size() == count, "every parameter is used by a node");
}

}  // namespace trireme
