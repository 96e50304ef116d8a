// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace trireme {

class Group;

/// How the ranks of a group lie on nodes: the same on every rank.
struct NodeTopology {
  int ranks = 1, nodes = 1;
  int smallest = 1, largest = 1;  ///< ranks on the node with the fewest, and on the one with the most

  /// "4 ranks on one node", "5 ranks on 2 nodes (2 to 3 each)"
  std::string text() const;
};

/// The ranks of `group` that share this rank's memory. Collective.
Group split_by_node(const Group& group);

/// Collective.
NodeTopology read_topology(const Group& group, std::chrono::duration<double> timeout);

}  // namespace trireme
