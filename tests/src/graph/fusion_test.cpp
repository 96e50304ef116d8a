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

TEST(fusion, puts_a_batch_norm_in_the_place_of_the_addition_of_its_output) {
  Graph g;
  const ValueId x = g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit);
  const ValueId a = g.batch_norm("bn_a", x);
  const ValueId b = g.batch_norm("bn_b", x);
  const Graph graph = finish(g, g.relu("r", g.add("add", a, b)));
  const Fusion some[] = {Fusion::batch_norm_add, Fusion::batch_norm_relu};
  const Graph fused = fuse(graph, some);
  ASSERT_EQ(fused.nodes().size(), 6U);
  const Node &first = fused.nodes()[2], &merged = fused.nodes()[3];
  EXPECT_EQ(first.name, "bn_a");
  EXPECT_FALSE(std::get<BatchNormOp>(first.op).residual);
  EXPECT_EQ(merged.name, "bn_b") << "the later one";
  EXPECT_TRUE(std::get<BatchNormOp>(merged.op).residual);
  EXPECT_TRUE(std::get<BatchNormOp>(merged.op).relu);
  EXPECT_EQ(merged.inputs, (std::vector<ValueId>{1, 2}));
  EXPECT_EQ(merged.parameters, graph.nodes()[3].parameters);
  EXPECT_EQ(parse_graph(fused.text()), fused);
}

TEST(fusion, adds_a_value_that_is_made_after_the_batch_norm) {
  Graph g;
  const ValueId x = g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit);
  const ValueId a = g.batch_norm("bn", x);
  const ValueId b = g.conv2d("later", x, kConv, kInit);
  const Graph graph = finish(g, g.add("add", b, a));
  const Fusion one[] = {Fusion::batch_norm_add};
  const Graph fused = fuse(graph, one);
  EXPECT_EQ(fused.nodes()[2].name, "later");
  EXPECT_EQ(fused.nodes()[3].name, "bn");
  EXPECT_EQ(fused.nodes()[3].inputs, (std::vector<ValueId>{1, 2}));
}

TEST(fusion, leaves_a_batch_norm_whose_output_is_used_twice) {
  Graph g;
  const ValueId a = g.batch_norm("bn", g.conv2d("conv", g.input({2, 2, 2}), kConv, kInit));
  const Graph graph = finish(g, g.add("add", a, a));
  const Fusion one[] = {Fusion::batch_norm_add};
  EXPECT_EQ(fuse(graph, one), graph);
}

TEST(fusion, takes_every_addition_of_a_resnet_into_a_batch_norm) {
  const Graph graph = build_model("resnet50", {.image = {64, 64, 3}, .num_classes = 10});
  const Fusion all[] = {Fusion::conv_relu, Fusion::linear_relu, Fusion::batch_norm_relu, Fusion::add_relu,
                        Fusion::batch_norm_add};
  const Graph fused = fuse(graph, all);
  EXPECT_EQ(count<AddOp>(fused), 0);
  EXPECT_EQ(count<ReluOp>(fused), 0);
  EXPECT_EQ(count<BatchNormOp>(fused), count<BatchNormOp>(graph));
}

TEST(fusion, merges_relu_into_a_linear_layer) {
  Graph g;
  const ValueId x =
      g.relu("r", g.linear("fc1", g.flatten("flat", g.input({2, 2, 2})), {.out_features = 3}, kInit));
  g.softmax_cross_entropy("loss", x);
  const Fusion one[] = {Fusion::linear_relu};
  const Graph fused = fuse(g, one);
  EXPECT_EQ(count<ReluOp>(fused), 0);
  EXPECT_EQ(parse_graph(fused.text()), fused);
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
