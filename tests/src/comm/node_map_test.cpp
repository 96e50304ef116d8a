// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_map.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(NodeMap, NumbersNodesAndPlacesInTheOrderOfTheRanks) {
  const NodeMap map = make_node_map({7, 3, 7, 3, 7, 9});
  ASSERT_EQ(map.nodes(), 3);
  EXPECT_EQ(map.on_node(0), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(map.on_node(1), (std::vector<int>{1, 3}));
  EXPECT_EQ(map.on_node(2), (std::vector<int>{5}));
  EXPECT_EQ(map.place(4).node, 0);
  EXPECT_EQ(map.place(4).local, 2);
  EXPECT_EQ(map.place(3).local, 1);
  EXPECT_EQ(map.smallest(), 1);
}

TEST(NodeMap, OneNodeIsAMapToo) {
  const NodeMap map = make_node_map({5, 5});
  EXPECT_EQ(map.nodes(), 1);
  EXPECT_EQ(map.smallest(), 2);
}

}  // namespace
}  // namespace trireme
