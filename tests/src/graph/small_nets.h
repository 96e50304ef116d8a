// SPDX-License-Identifier: Apache-2.0
// Small graphs whose values are used in every way that the gradient plan must get right.
#pragma once

#include <vector>

#include "src/graph/graph.h"

namespace trireme::testing {

struct SmallNet {
  const char* name;
  Graph (*build)();
};

/// Names for the parameters of a test suite.
const std::vector<SmallNet>& small_nets();
/// Two of its linear layers are one layer.
Graph net_with_shared_layer();

}  // namespace trireme::testing
