// SPDX-License-Identifier: Apache-2.0
#include "src/graph/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/models.h"
#include "src/graph/flat_layout.h"

namespace trireme {
namespace {

constexpr auto kInit = Initializer::Kind::fan_in_uniform;
constexpr Conv2dOp kConv{.out_channels = 2, .kernel_h = 1, .kernel_w = 1};

template <typename Op>
auto count(const Graph& graph) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [](const Node& node) { return std::holds_alternative<Op>(node.op); });
}

Graph finish(Graph& g, ValueId x) {
  g.softmax_cross_entropy("loss", g.flatten("flat", x));
  return std::move(g);
}

TEST(fusion, merges_relu_into_each_named_producer) {
  Graph g;
  const ValueId a = g.relu("r1", g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit));
  const ValueId b = g.relu("r2", g.batch_norm("bn", a));
  const Graph graph = finish(g, g.relu("r3", g.add("add", a, b)));
  const Fusion all[] = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
  const Graph fused = fuse(graph, all);
  ASSERT_EQ(fused.nodes().size(), 6U);
  EXPECT_EQ(count<ReluOp>(fused), 0);
  EXPECT_TRUE(std::get<Conv2dOp>(fused.nodes()[1].op).relu);
  EXPECT_TRUE(std::get<BatchNormOp>(fused.nodes()[2].op).relu);
  EXPECT_TRUE(std::get<AddOp>(fused.nodes()[3].op).relu);
  EXPECT_EQ(fused.nodes()[3].inputs, (std::vector<ValueId>{1, 2}));
  EXPECT_EQ(fused.nodes()[3].name, "add");
  EXPECT_EQ(fused.parameters(), graph.parameters());
  EXPECT_EQ(fused.nodes()[2].parameters, graph.nodes()[3].parameters);
}

TEST(fusion, applies_only_what_the_device_names) {
  Graph g;
  const ValueId a = g.relu("r1", g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit));
  const Graph graph = finish(g, g.relu("r2", g.batch_norm("bn", a)));
  EXPECT_EQ(fuse(graph, {}), graph);
  const Fusion one[] = {Fusion::conv_relu};
  const Graph fused = fuse(graph, one);
  EXPECT_EQ(count<ReluOp>(fused), 1);
  EXPECT_TRUE(std::get<Conv2dOp>(fused.nodes()[1].op).relu);
  EXPECT_FALSE(std::get<BatchNormOp>(fused.nodes()[2].op).relu);
}

TEST(fusion, leaves_a_value_that_somebody_else_uses) {
  Graph g;
  const ValueId a = g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit);
  const Graph graph = finish(g, g.add("add", g.relu("r", a), a));
  const Fusion all[] = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
  EXPECT_EQ(fuse(graph, all), graph);
}

TEST(fusion, leaves_other_producers_and_second_relus) {
  Graph g;
  ValueId x = g.relu("r1", g.input({2, 2, 2}));
  x = g.relu("r3", g.relu("r2", g.conv2d("conv", x, kConv, kInit)));
  const Graph graph = finish(g, x);
  const Fusion all[] = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
  const Graph fused = fuse(graph, all);
  EXPECT_EQ(count<ReluOp>(fused), 2) << "the input has none to give, and conv takes one";
}

TEST(fusion, keeps_the_flat_layout_of_a_resnet) {
  const Graph graph = build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
  const Fusion all[] = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
  const Graph fused = fuse(graph, all);
  EXPECT_EQ(count<ReluOp>(graph), 19);
  EXPECT_EQ(count<ReluOp>(fused), 0);
  const FlatLayout before(graph), after(fused);
  for (std::size_t i = 0; i < before.entries.size(); ++i) {
    EXPECT_EQ(before.entries[i].parameter, after.entries[i].parameter);
    EXPECT_EQ(before.entries[i].offset, after.entries[i].offset);
  }
}

}  // namespace
}  // namespace trireme
