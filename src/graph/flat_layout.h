// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "src/graph/graph.h"

namespace trireme {

/// Where each parameter lies in the flat fp32 buffers of parameters, gradients and optimizer state. A pure
/// function of the graph: entries follow the order in which backward makes gradients ready (last used node
/// first; a parameter used twice counts at its first use in forward order), each aligned to 256 bytes, the
/// gaps zero.
struct FlatLayout {
  struct Entry {
    ParamId parameter = -1;
    std::size_t offset = 0;  ///< in elements
    std::size_t count = 0;   ///< in elements
  };

  explicit FlatLayout(const Graph& graph);

  std::vector<Entry> entries;         ///< in gradient-ready order, ascending offsets
  std::vector<std::size_t> entry_of;  ///< by ParamId: index into entries
  std::size_t elements = 0;           ///< whole buffer, gaps included, a multiple of 64

  std::size_t bytes() const { return elements * sizeof(float); }
  const Entry& entry(ParamId p) const { return entries[entry_of[static_cast<std::size_t>(p)]]; }
};

}  // namespace trireme
