// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_topology.h"

#include <algorithm>
#include <map>

#include "src/comm/world.h"

namespace trireme {

std::string NodeTopology::text() const {
  const std::string all = fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
  if (nodes == 1) return all + " on one node";
  const std::string each =
      smallest == largest ? fmt::format("{}", smallest) : fmt::format("{} to {}", smallest, largest);
  return fmt::format("{} on {} nodes ({} each)", all, nodes, each);
}

Group split_by_node(const Group& group) {
  MPI_Comm node = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(group.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  return Group(node);
}

NodeTopology read_topology(const Group& group, std::chrono::duration<double> timeout) {
  const Group node = split_by_node(group);
  // A node is known by the rank of its first member, so that two hosts may have one name.
  const std::string first = node.broadcast_text(std::to_string(group.rank()), 0, timeout,
                                                "the other ranks of this node to say where they are");
  std::map<std::string, int> ranks_of_node;
  for (const std::string& name : group.allgather_text(first, timeout, "all ranks to say where they are"))
    ++ranks_of_node[name];
  NodeTopology topology;
  topology.ranks = group.size();
  topology.nodes = static_cast<int>(ranks_of_node.size());
  topology.smallest = topology.largest = ranks_of_node.begin()->second;
  for (const auto& [name, ranks] : ranks_of_node) {
    topology.smallest = std::min(topology.smallest, ranks);
    topology.largest = std::max(topology.largest, ranks);
  }
  return topology;
}

}  // namespace trireme
