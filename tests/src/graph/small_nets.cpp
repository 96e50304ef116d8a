// SPDX-License-Identifier: Apache-2.0
#include "tests/src/graph/small_nets.h"

#include <string>

namespace trireme::testing {

namespace {

constexpr auto kInit = Initializer::Kind::fan_in_uniform;

Conv2dOp conv3x3(std::int64_t channels, bool bias = false) {
  return {.out_channels = channels, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .bias = bias};
}

Graph finish(Graph& graph, ValueId x, double smoothing = 0) {
  x = graph.flatten("flatten", graph.adaptive_avg_pool("pool", x, {2, 2}));
  x = graph.linear("fc", x, {.out_features = 3}, kInit);
  graph.softmax_cross_entropy("loss", x, {smoothing});
  return std::move(graph);
}

struct Start {
  Graph graph;
  ValueId x;
};

// A value with gradients of its own to pass on.
Start start() {
  Start s;
  s.x = s.graph.input({4, 5, 2});
  s.x = s.graph.conv2d("stem", s.x, conv3x3(3, true), kInit);
  return s;
}

Graph chain() {
  auto [g, x] = start();
  x = g.relu("relu", g.batch_norm("bn", x));
  x = g.max_pool("max", x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 1, .stride_w = 1});
  return finish(g, x, 0.1);
}

Graph three_consumers() {
  auto [g, x] = start();
  x = g.relu("relu", x);
  const ValueId a = g.conv2d("a", x, conv3x3(3), kInit);
  const ValueId b = g.batch_norm("b", x);
  return finish(g, g.add("add2", g.add("add1", a, b), x));
}

Graph residual_block() {
  auto [g, x] = start();
  ValueId y = g.relu("relu1", g.batch_norm("bn1", g.conv2d("conv1", x, conv3x3(3), kInit)));
  y = g.batch_norm("bn2", g.conv2d("conv2", y, conv3x3(3), kInit));
  y = g.relu("relu2", g.add("add", y, x));
  ValueId z = g.relu("relu3", g.batch_norm("bn3", g.conv2d("conv3", y, conv3x3(3), kInit)));
  return finish(g, g.relu("relu4", g.add("add2", z, y)));
}

// Summands whose gradients are cut at different places, by devices that cut them where they are made.
Graph rectified_summands() {
  auto [g, x] = start();
  const ValueId a = g.relu("relu_a", g.conv2d("a", x, conv3x3(3, true), kInit));
  const ValueId b = g.relu("relu_b", g.conv2d("b", x, conv3x3(3, true), kInit));
  const ValueId c = g.relu("relu_c", g.conv2d("c", x, conv3x3(3), kInit));
  const ValueId sum = g.relu("relu_sum", g.add("add2", g.add("add1", a, b), c));
  return finish(g, g.add("add4", sum, g.add("add3", b, g.batch_norm("bn", c))));
}

Graph add_to_itself() {
  auto [g, x] = start();
  return finish(g, g.add("add", x, x));
}

Graph rectified_add_to_itself() {
  auto [g, x] = start();
  x = g.relu("relu", g.add("add", x, x));
  return finish(g, g.relu("relu2", g.add("add2", x, x)));
}

Graph add_chain() {
  auto [g, x] = start();
  ValueId y = g.conv2d("conv", x, conv3x3(3), kInit);
  for (int i = 0; i < 4; ++i) y = g.add("add" + std::to_string(i), i % 2 == 0 ? x : y, i % 2 == 0 ? y : x);
  return finish(g, g.add("last", y, y));
}

// Aliased gradients that in-place passes would like to overwrite.
Graph aliases_in_place() {
  auto [g, x] = start();
  const ValueId y = g.relu("relu", x);
  const ValueId z = g.add("add1", g.batch_norm("bn1", y), g.relu("relu_y", y));
  const ValueId w = g.add("add2", z, g.relu("relu_z", z));
  const ValueId v = g.add("add3", g.batch_norm("bn2", w), g.add("add4", w, x));
  return finish(g, g.relu("relu_v", v));
}

// Both gradients that meet at x are aliases that other values still hold.
Graph held_twice() {
  auto [g, x] = start();
  const ValueId u = g.batch_norm("u", x), v = g.batch_norm("v", x);
  const ValueId a = g.add("add1", x, u), b = g.add("add2", x, v);
  return finish(g, g.add("add3", g.relu("relu", a), b));
}

Graph image_added() {
  Graph g;
  const ValueId image = g.input({4, 5, 2});
  const ValueId y = g.conv2d("conv", image, conv3x3(2), kInit);
  const ValueId z = g.add("add", g.relu("relu", image), g.add("add1", image, y));
  return finish(g, g.add("add2", z, image));
}

Graph every_op() {
  auto [g, x] = start();
  x = g.relu("relu1", g.batch_norm("bn", x));
  x = g.max_pool("max", x,
                 {.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 1, .pad_h = 1, .pad_w = 0});
  x = g.conv2d("conv", x, {.out_channels = 4, .kernel_h = 1, .kernel_w = 2, .stride_w = 2, .bias = true},
               kInit);
  x = g.flatten("flat", x);
  x = g.dropout("drop1", g.relu("relu2", g.linear("fc1", x, {.out_features = 6}, kInit)), 0.4);
  x = g.dropout("drop2", g.linear("fc2", x, {.out_features = 5, .bias = false}, kInit), 0.3);
  x = g.linear("fc3", x, {.out_features = 7}, kInit);
  g.softmax_cross_entropy("loss", x, {0.2});
  return std::move(g);
}

}  // namespace

const std::vector<SmallNet>& small_nets() {
  static const std::vector<SmallNet> nets = {
      {"chain", chain},
      {"three_consumers", three_consumers},
      {"residual_block", residual_block},
      {"rectified_summands", rectified_summands},
      {"add_to_itself", add_to_itself},
      {"rectified_add_to_itself", rectified_add_to_itself},
      {"add_chain", add_chain},
      {"aliases_in_place", aliases_in_place},
      {"held_twice", held_twice},
      {"image_added", image_added},
      {"every_op", every_op},
      {"shared_layer", net_with_shared_layer},
  };
  return nets;
}

Graph net_with_shared_layer() {
  return parse_graph(R"(trireme_graph 1
input input shape=[1,2,2] from= params=
flatten flat shape=[4] from=input params=
parameter one.weight shape=[4,4] role=linear_weight init=fan_in_uniform value=0 fan=4 placement=replicated
parameter one.bias shape=[4] role=bias init=fan_in_uniform value=0 fan=4 placement=replicated
linear first shape=[4] from=flat params=one.weight,one.bias out_features=4 bias=true
relu relu shape=[4] from=first params=
parameter own.bias shape=[4] role=bias init=fan_in_uniform value=0 fan=4 placement=replicated
linear second shape=[4] from=relu params=one.weight,own.bias out_features=4 bias=true
parameter fc.weight shape=[3,4] role=linear_weight init=fan_in_uniform value=0 fan=4 placement=replicated
linear fc shape=[3] from=second params=fc.weight out_features=3 bias=false
softmax_cross_entropy loss shape=[] from=fc params= label_smoothing=0
)");
}

}  // namespace trireme::testing
