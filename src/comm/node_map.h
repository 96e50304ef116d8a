// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace trireme {

class Group;

/// Which rank of a group is where: the same on every rank. Nodes are numbered in the order of their lowest
/// ranks, the ranks of a node in the order of their ranks in the group.
struct NodeMap {
  struct Place {
    int node = 0, local = 0;
  };
  std::vector<Place> places;              ///< by rank
  std::vector<std::vector<int>> members;  ///< ranks, by node

  int nodes() const { return static_cast<int>(members.size()); }
  const Place& place(int rank) const { return places[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& on_node(int node) const { return members[static_cast<std::size_t>(node)]; }
  /// Ranks on the node with the fewest: so many of each node can be paired with one of every other.
  int smallest() const;
};

/// From a number per rank that is equal for ranks on one node and different for others.
NodeMap make_node_map(const std::vector<int>& node_of_rank);

/// The nodes as MPI sees them. Collective and blocking.
NodeMap read_node_map(const Group& group);

}  // namespace trireme
