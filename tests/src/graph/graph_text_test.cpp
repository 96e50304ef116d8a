// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/models.h"
#include "src/core/error.h"
#include "src/graph/fusion.h"
#include "src/graph/graph.h"
#include "tests/src/graph/small_nets.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(graph_text, every_model_reads_back_equal) {
  for (const Model& model : all_models())
    for (std::int64_t side : {32, 64}) {
      const Graph graph = model.build({.image = {side, side, 3}, .num_classes = 10, .label_smoothing = 0.1});
      const std::string text = graph.text();
      EXPECT_EQ(parse_graph(text), graph) << model.name;
      EXPECT_EQ(parse_graph(text).text(), text) << model.name;
    }
}

TEST(graph_text, small_nets_and_fused_graphs_read_back_equal) {
  for (const testing::SmallNet& net : testing::small_nets()) {
    const Graph graph = net.build();
    EXPECT_EQ(parse_graph(graph.text()), graph) << net.name;
    const Fusion all[] = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
    const Graph fused = fuse(graph, all);
    EXPECT_EQ(parse_graph(fused.text()), fused) << net.name;
  }
}

TEST(graph_text, doubles_survive_to_the_last_bit) {
  for (double value : {0.1, 1.0 / 3, 1e-5, std::nextafter(0.1, 1.0), 5e-324, 0.7071067811865476}) {
    Graph graph;
    const ValueId x = graph.batch_norm("bn", graph.input({2, 2, 1}), {.epsilon = value, .momentum = value});
    graph.softmax_cross_entropy("loss", graph.flatten("flat", x), {value});
    const Graph read = parse_graph(graph.text());
    EXPECT_EQ(std::get<BatchNormOp>(read.nodes()[1].op).epsilon, value);
    EXPECT_EQ(std::get<SoftmaxCrossEntropyOp>(read.nodes().back().op).label_smoothing, value);
  }
}

TEST(graph_text, sync_is_written_only_where_it_is_set) {
  Graph graph = testing::small_nets().front().build();
  const std::string before = graph.text();
  EXPECT_THAT(before, ::testing::Not(HasSubstr("sync")));
  graph.synchronize_batch_norm();
  EXPECT_THAT(graph.text(), HasSubstr(" relu=false sync=true\n"));
  EXPECT_EQ(parse_graph(graph.text()), graph);
  EXPECT_NE(parse_graph(before), graph);
}

TEST(graph_text, is_one_line_per_node_and_parameter) {
  Graph graph;
  graph.conv2d("conv1", graph.input({8, 8, 3}),
               {.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .stride_w = 2, .pad_h = 1},
               Initializer::Kind::kaiming_normal);
  EXPECT_EQ(graph.text(),
            "trireme_graph 1\n"
            "input input shape=[8,8,3] from= params=\n"
            "parameter conv1.weight shape=[4,3,3,3] role=conv_weight init=kaiming_normal value=0 fan=36 "
            "placement=replicated\n"
            "conv2d conv1 shape=[8,3,4] from=input params=conv1.weight out_channels=4 kernel_h=3 kernel_w=3 "
            "stride_h=1 stride_w=2 pad_h=1 pad_w=0 bias=false relu=false\n");
}

TEST(graph_text, comments_and_empty_lines_are_passed_over) {
  const Graph graph = testing::net_with_shared_layer();
  std::string text = graph.text();
  text.insert(text.find('\n') + 1, "# a comment\n\n");
  EXPECT_EQ(parse_graph(text), graph);
}

TEST(graph_text, nodes_may_share_parameters) {
  const Graph graph = testing::net_with_shared_layer();
  EXPECT_EQ(graph.nodes()[2].parameters[0], graph.nodes()[4].parameters[0]);
  EXPECT_NE(graph.nodes()[2].parameters[1], graph.nodes()[4].parameters[1]);
}

struct Damage {
  const char* name;
  std::string from, to;  ///< what is replaced in the text below
  std::vector<std::string> says;
};

constexpr std::string_view kText =
    "trireme_graph 1\n"
    "input input shape=[2,2,1] from= params=\n"
    "batch_norm bn shape=[2,2,1] from=input params=w,b,m,v epsilon=1e-05 momentum=0.1 relu=false\n"
    "flatten flat shape=[4] from=bn params=\n"
    "softmax_cross_entropy loss shape=[] from=flat params= label_smoothing=0\n";

std::string whole_text() {
  std::string text(kText);
  std::string parameters;
  for (const char* line : {"w shape=[1] role=norm_weight", "b shape=[1] role=norm_bias",
                           "m shape=[1] role=running_mean", "v shape=[1] role=running_var"})
    parameters += std::string("parameter ") + line + " init=constant value=0 fan=0 placement=replicated\n";
  return text.insert(text.find("batch_norm"), parameters);
}

class EveryDamage : public ::testing::TestWithParam<Damage> {};

TEST_P(EveryDamage, is_bad_data_with_the_line) {
  std::string text = whole_text();
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  try {
    parse_graph(text);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::bad_data);
    for (const std::string& part : GetParam().says) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

const Damage kDamages[] = {
    {"misspelt_op", "batch_norm bn", "batchnorm bn", {"line 7", "unknown op 'batchnorm'", "batch_norm?"}},
    {"misspelt_attribute", "epsilon=", "epsilom=", {"line 7", "no 'epsilon'"}},
    {"more_attributes", "momentum=0.1", "momentum=0.1 momentun=2", {"line 7", "'momentun'", "momentum?"}},
    {"doubled_attribute", "momentum=0.1", "momentum=0.1 momentum=0.1", {"line 7", "'momentum' twice"}},
    {"not_a_number", "momentum=0.1", "momentum=0.1x", {"line 7", "momentum=0.1x"}},
    {"not_a_bool", "relu=false", "relu=maybe", {"line 7", "relu=maybe"}},
    {"impossible_value", "epsilon=1e-05", "epsilon=-1", {"line 7", "'bn'", "epsilon"}},
    {"wrong_shape", "flat shape=[4]", "flat shape=[5]", {"line 8", "'flat'", "[4]", "[5]"}},
    {"torn_shape", "flat shape=[4]", "flat shape=[4", {"line 8", "[4"}},
    {"unknown_node", "from=bn", "from=bm", {"line 8", "'bm' is not defined above"}},
    {"unknown_parameter", "params=w,b", "params=w,c", {"line 7", "'c' is not defined above"}},
    {"too_few_parameters", "params=w,b,m,v", "params=w,b,m", {"line 7", "4 parameters, not 3"}},
    {"swapped_parameters", "params=w,b", "params=b,w", {"line 7", "'bn'", "weight"}},
    {"parameter_shape", "w shape=[1]", "w shape=[2]", {"line 7", "'w' [2]"}},
    {"unknown_role", "role=norm_bias", "role=norm_bia", {"line 4", "norm_bias?"}},
    {"unknown_initialiser", "init=constant", "init=constants", {"line 3", "constant?"}},
    {"fan_without_number", "init=constant", "init=kaiming_normal", {"line 3", "positive fan"}},
    {"unused_parameter",
     "flatten flat",
     "parameter x shape=[1] role=bias init=constant value=0 fan=0 placement=replicated\nflatten flat",
     {"no node uses parameter 'x'"}},
    {"shared_statistics",
     "flatten flat shape=[4] from=bn",
     "batch_norm bn2 shape=[2,2,1] from=bn params=w,b,m,v epsilon=1 momentum=0 relu=false\nflatten flat "
     "shape=[4] "
     "from=bn2",
     {"line 8", "'m'", "cannot be shared"}},
    {"name_alone", "flatten flat", "flatten\nflatten flat", {"line 8", "kind and name"}},
    {"not_a_graph", "trireme_graph 1", "trireme_graph 2", {"line 1", "trireme_graph 2"}},
};

INSTANTIATE_TEST_SUITE_P(graph_text, EveryDamage, ::testing::ValuesIn(kDamages),
                         [](const auto& row) { return row.param.name; });

TEST(graph_text, the_undamaged_text_is_read) {
  EXPECT_EQ(parse_graph(whole_text()).text().size(), whole_text().size());
}

TEST(graph_text, nothing_is_not_a_graph) {
  EXPECT_THROW(parse_graph(""), Error);
}

}  // namespace
}  // namespace trireme
