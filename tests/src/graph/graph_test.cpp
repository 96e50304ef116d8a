// SPDX-License-Identifier: Apache-2.0
#include "src/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/core/error.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

constexpr auto kInit = Initializer::Kind::fan_in_uniform;

struct Refusal {
  const char* name;
  std::function<void(Graph&, ValueId)> build;  ///< given a graph and its input of [8,6,3]
  std::vector<std::string> says;
};

class EveryRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(EveryRefusal, names_node_and_shapes) {
  Graph graph;
  const ValueId x = graph.input({8, 6, 3});
  try {
    GetParam().build(graph, x);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    for (const std::string& part : GetParam().says) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

const Refusal kRefusals[] = {
    {"kernel_too_large",
     [](Graph& g, ValueId x) {
       g.conv2d("c", x, {.out_channels = 4, .kernel_h = 3, .kernel_w = 9, .pad_w = 1}, kInit);
     },
     {"conv2d 'c'", "[8,6,3]", "9 columns", "does not fit"}},
    {"no_channels",
     [](Graph& g, ValueId x) { g.conv2d("c", x, {.out_channels = 0, .kernel_h = 1, .kernel_w = 1}, kInit); },
     {"conv2d 'c'", "out_channels"}},
    {"no_stride",
     [](Graph& g, ValueId x) {
       g.conv2d("c", x, {.out_channels = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 0}, kInit);
     },
     {"conv2d 'c'", "stride"}},
    {"conv_of_features",
     [](Graph& g, ValueId x) {
       g.conv2d("c", g.flatten("f", x), {.out_channels = 1, .kernel_h = 1, .kernel_w = 1}, kInit);
     },
     {"conv2d 'c'", "[144]", "picture"}},
    {"linear_of_picture",
     [](Graph& g, ValueId x) { g.linear("fc", x, {.out_features = 2}, kInit); },
     {"linear 'fc'", "[8,6,3]", "flatten"}},
    {"add_of_different_shapes",
     [](Graph& g, ValueId x) {
       g.add("sum", x, g.max_pool("p", x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2}));
     },
     {"add 'sum'", "[8,6,3], [4,3,3]", "equal shapes"}},
    {"pool_padding",
     [](Graph& g, ValueId x) { g.max_pool("p", x, {.kernel_h = 2, .kernel_w = 2, .pad_h = 2}); },
     {"max_pool 'p'", "half the window"}},
    {"empty_adaptive_pool",
     [](Graph& g, ValueId x) {
       g.adaptive_avg_pool("p", x, {0, 1});
     },
     {"adaptive_avg_pool 'p'"}},
    {"dropout_of_everything", [](Graph& g, ValueId x) { g.dropout("d", x, 1.0); }, {"dropout 'd'", "[0, 1)"}},
    {"smoothing",
     [](Graph& g, ValueId x) { g.softmax_cross_entropy("loss", g.flatten("f", x), {1.5}); },
     {"softmax_cross_entropy 'loss'", "label smoothing"}},
    {"loss_of_picture",
     [](Graph& g, ValueId x) { g.softmax_cross_entropy("loss", x); },
     {"'loss'", "[8,6,3]"}},
    {"epsilon",
     [](Graph& g, ValueId x) { g.batch_norm("bn", x, {.epsilon = 0}); },
     {"batch_norm 'bn'", "epsilon"}},
    {"doubled_name", [](Graph& g, ValueId x) { g.relu("r", g.relu("r", x)); }, {"two nodes named 'r'"}},
    {"doubled_parameter",
     [](Graph& g, ValueId x) { g.batch_norm("bn", g.batch_norm("bn", x)); },
     {"two parameters named 'bn.weight'"}},
    {"name_with_space", [](Graph& g, ValueId x) { g.relu("a b", x); }, {"'a b'"}},
    {"second_input",
     [](Graph& g, ValueId) {
       g.input({1, 1, 1});
     },
     {"first node"}},
    {"after_the_loss",
     [](Graph& g, ValueId x) {
       const ValueId f = g.flatten("f", x);
       g.softmax_cross_entropy("loss", f);
       g.relu("r", f);
     },
     {"'r'", "after the loss"}},
    {"unused_value",
     [](Graph& g, ValueId x) {
       g.relu("r", x);
       g.softmax_cross_entropy("loss", g.flatten("f", x));
       g.check_complete();
     },
     {"nobody uses the output of 'r'"}},
    {"no_loss",
     [](Graph& g, ValueId x) {
       g.relu("r", x);
       g.check_complete();
     },
     {"softmax_cross_entropy"}},
};

INSTANTIATE_TEST_SUITE_P(graph, EveryRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& row) { return row.param.name; });

TEST(graph, refuses_pictures_without_pixels) {
  Graph graph;
  EXPECT_THROW(graph.input({0, 6, 3}), Error);
  EXPECT_THROW(graph.input({8, 6}), Error);
}

TEST(graph, infers_shapes_with_floor_rounding) {
  Graph g;
  const ValueId x = g.input({9, 7, 3});
  const ValueId c = g.conv2d(
      "c", x, {.out_channels = 5, .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 3, .pad_h = 1},
      kInit);
  EXPECT_EQ(g.value(c).shape, (Shape{5, 2, 5}));
  const ValueId p = g.max_pool("p", c, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
  EXPECT_EQ(g.value(p).shape, (Shape{2, 1, 5}));
  EXPECT_EQ(g.value(g.adaptive_avg_pool("a", p, {7, 7})).shape, (Shape{7, 7, 5})) << "it may enlarge";
  const ValueId f = g.flatten("f", p);
  EXPECT_EQ(g.value(f).shape, (Shape{10}));
  const ValueId y = g.linear("fc", f, {.out_features = 4}, kInit);
  EXPECT_EQ(g.value(g.softmax_cross_entropy("loss", y)).shape, Shape{});
  EXPECT_EQ(g.num_classes(), 4);
  EXPECT_EQ(g.image_shape(), (Shape{9, 7, 3}));
}

TEST(graph, convolutions_may_pad_beyond_their_kernel) {
  Graph g;
  const ValueId c =
      g.conv2d("c", g.input({2, 2, 1}),
               {.out_channels = 1, .kernel_h = 1, .kernel_w = 1, .pad_h = 1, .pad_w = 2}, kInit);
  EXPECT_EQ(g.value(c).shape, (Shape{4, 6, 1}));
}

TEST(graph, makes_parameters_in_order_of_definition) {
  Graph g;
  ValueId x = g.input({4, 4, 3});
  x = g.conv2d("c", x, {.out_channels = 8, .kernel_h = 3, .kernel_w = 2, .bias = true},
               Initializer::Kind::kaiming_normal);
  x = g.flatten("f", g.batch_norm("bn", x));
  g.softmax_cross_entropy("loss", g.linear("fc", x, {.out_features = 4}, kInit));
  const Initializer zero{Initializer::Kind::constant, 0, 0}, one{Initializer::Kind::constant, 1, 0};
  const std::vector<Parameter> expected = {
      {"c.weight", {8, 3, 2, 3}, ParamRole::conv_weight, {Initializer::Kind::kaiming_normal, 0, 48}},
      {"c.bias", {8}, ParamRole::bias, zero},
      {"bn.weight", {8}, ParamRole::norm_weight, one},
      {"bn.bias", {8}, ParamRole::norm_bias, zero},
      {"bn.running_mean", {8}, ParamRole::running_mean, zero},
      {"bn.running_var", {8}, ParamRole::running_var, one},
      {"fc.weight", {4, 48}, ParamRole::linear_weight, {kInit, 0, 48}},
      {"fc.bias", {4}, ParamRole::bias, {kInit, 0, 48}},
  };
  EXPECT_EQ(g.parameters(), expected);
  EXPECT_EQ(g.num_trainable(), 8 * 18 + 8 + 16 + 4 * 48 + 4) << "without running statistics";
}

TEST(graph, numbers_dropout_nodes) {
  Graph g;
  ValueId x = g.input({2, 2, 1});
  x = g.dropout("b", g.relu("r", g.dropout("a", x, 0.1)), 0.2);
  EXPECT_EQ(std::get<DropoutOp>(g.nodes()[1].op).ordinal, 0);
  EXPECT_EQ(std::get<DropoutOp>(g.nodes()[3].op).ordinal, 1);
}

}  // namespace
}  // namespace trireme
