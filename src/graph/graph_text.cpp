// SPDX-License-Identifier: Apache-2.0
// The text form of a graph. A header line, then one line per node, each preceded by the lines of the
// parameters that it is the first to use:
//
//   trireme_graph 1
//   input input shape=[32,32,3] from= params=
//   parameter conv1.weight shape=[16,3,3,3] role=conv_weight init=kaiming_normal value=0 fan=144
//   placement=replicated conv2d conv1 shape=[32,32,16] from=input params=conv1.weight out_channels=16
//   kernel_h=3 …
//
// `shape` of a node is its output for one sample; `from` names the nodes whose outputs it takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/graph/op_fields.h"

namespace trireme {

namespace {

template <typename Names, typename Enum>
std::string_view enum_name(const Names& names, Enum value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.value == value; })->name;
}

std::string parameter_line(const Parameter& p) {
  return fmt::format("parameter {} shape={} role={} init={} value={} fan={} placement={}\n", p.name,
                     p.shape.text(), enum_name(kRoleNames, p.role), enum_name(kInitializerNames, p.init.kind),
                     p.init.value, p.init.fan, enum_name(kPlacementNames, p.placement));
}

template <typename T>
void append_field(std::string& line, std::string_view name, const T& value) {
  line += fmt::format(" {}={}", name, value);
}
template <typename T>
void append_field(std::string& line, std::string_view name, const LaterField<T>& field) {
  if (field.value != field.otherwise) append_field(line, name, field.value);
}

std::string node_line(const Graph& graph, const Node& node) {
  std::vector<std::string_view> from, params;
  for (ValueId input : node.inputs) from.push_back(graph.node(graph.value(input).producer).name);
  for (ParamId p : node.parameters) params.push_back(graph.parameter(p).name);
  std::string line =
      fmt::format("{} {} shape={} from={} params={}", op_name(node.op), node.name,
                  graph.value(node.output).shape.text(), fmt::join(from, ","), fmt::join(params, ","));
  // fmt writes the shortest decimal text that reads back as the same double.
  OpAttributes op = node.op;
  std::visit(
      [&](auto& attributes) {
        visit_fields(attributes,
                     [&](std::string_view name, const auto& field) { append_field(line, name, field); });
      },
      op);
  return line + "\n";
}

}  // namespace

std::string Graph::text() const {
  std::string text = "trireme_graph 1\n";
  ParamId written = 0;
  for (const Node& node : nodes_) {
    // Shared parameters stand before their first use; definition order is kept.
    const auto last = std::max_element(node.parameters.begin(), node.parameters.end());
    if (last != node.parameters.end())
      for (; written <= *last; ++written) text += parameter_line(parameter(written));
    text += node_line(*this, node);
  }
  return text;
}

}  // namespace trireme
