// SPDX-License-Identifier: Apache-2.0
#include "src/graph/flat_layout.h"

#include <gtest/gtest.h>

#include "models/models.h"
#include "tests/src/graph/small_nets.h"

namespace trireme {
namespace {

std::vector<std::string> names_of(const Graph& graph, const FlatLayout& layout) {
  std::vector<std::string> names;
  for (const auto& entry : layout.entries) names.push_back(graph.parameter(entry.parameter).name);
  return names;
}

TEST(flat_layout, follows_the_order_in_which_gradients_become_ready) {
  const Graph graph = build_model("lenet", {.image = {32, 32, 3}, .num_classes = 10});
  const FlatLayout layout(graph);
  EXPECT_EQ(
      names_of(graph, layout),
      (std::vector<std::string>{"fc3.weight", "fc3.bias", "fc2.weight", "fc2.bias", "fc1.weight", "fc1.bias",
                                "conv2.weight", "conv2.bias", "conv1.weight", "conv1.bias"}));
}

TEST(flat_layout, a_shared_parameter_counts_at_its_first_use) {
  const Graph graph = testing::net_with_shared_layer();
  EXPECT_EQ(names_of(graph, FlatLayout(graph)),
            (std::vector<std::string>{"fc.weight", "own.bias", "one.weight", "one.bias"}));
}

TEST(flat_layout, entries_are_aligned_ascending_and_whole) {
  for (const char* model : {"resnet20", "vgg16_bn", "lenet"}) {
    const Graph graph = build_model(model, {.image = {32, 32, 3}, .num_classes = 7});
    const FlatLayout layout(graph);
    ASSERT_EQ(layout.entries.size(), graph.parameters().size());
    std::size_t end = 0;
    for (const auto& entry : layout.entries) {
      EXPECT_EQ(entry.offset * sizeof(float) % 256, 0U);
      EXPECT_GE(entry.offset, end);
      EXPECT_LT(entry.offset - end, 64U) << "no more than the alignment asks for";
      EXPECT_EQ(entry.count, static_cast<std::size_t>(graph.parameter(entry.parameter).shape.count()));
      EXPECT_EQ(&layout.entry(entry.parameter), &entry);
      end = entry.offset + entry.count;
    }
    EXPECT_GE(layout.elements, end);
    EXPECT_EQ(layout.elements % 64, 0U);
    EXPECT_EQ(layout.bytes(), layout.elements * 4);
  }
}

}  // namespace
}  // namespace trireme
