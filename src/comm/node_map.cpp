// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_map.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "src/comm/node_topology.h"
#include "src/comm/world.h"

namespace trireme {

int NodeMap::smallest() const {
  std::size_t smallest = members[0].size();
  for (const std::vector<int>& ranks : members) smallest = std::min(smallest, ranks.size());
  return static_cast<int>(smallest);
}

NodeMap make_node_map(const std::vector<int>& node_of_rank) {
  NodeMap map;
  std::map<int, int> numbers;  // what the ranks say, to the order in which it comes up
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const int node = numbers.emplace(node_of_rank[rank], map.nodes()).first->second;
    if (node == map.nodes()) map.members.emplace_back();
    std::vector<int>& members = map.members[static_cast<std::size_t>(node)];
    map.places.push_back({node, static_cast<int>(members.size())});
    members.push_back(static_cast<int>(rank));
  }
  return map;
}

NodeMap read_node_map(const Group& group) {
  constexpr Group::Seconds kTimeout = std::chrono::minutes(10);
  const char* const what = "all ranks to say where they are";
  // A node is known by the rank of its first member, so that two hosts may have one name.
  const std::string first =
      split_by_node(group).broadcast_text(std::to_string(group.rank()), 0, kTimeout, what);
  std::vector<int> node_of_rank;
  for (const std::string& text : group.allgather_text(first, kTimeout, what))
    node_of_rank.push_back(std::stoi(text));
  return make_node_map(node_of_rank);
}

}  // namespace trireme
