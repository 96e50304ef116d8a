// SPDX-License-Identifier: Apache-2.0
#include "src/graph/graph.h"

#include <algorithm>
#include <cctype>

#include "src/core/error.h"
#include "src/graph/infer.h"

namespace trireme {

namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
}

void check_name(std::string_view name) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_character))
    throw make_error(Status::configuration, "'{}' is not a node or parameter name", name)
        .hint("names consist of letters, digits and _ . - /");
}

}  // namespace

ValueId Graph::append(std::string_view name, const OpAttributes& op, std::vector<ValueId> inputs,
                      const Shape& output, std::vector<ParamId> parameters) {
  check_name(name);
  if (nodes_.empty() != std::holds_alternative<InputOp>(op))
    throw make_error(Status::configuration, "'{}': the input must be the first node, and only that", name);
  if (std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == name; }))
    throw make_error(Status::configuration, "the graph has two nodes named '{}'", name);
  if (!nodes_.empty() && std::holds_alternative<SoftmaxCrossEntropyOp>(nodes_.back().op))
    throw make_error(Status::configuration, "'{}' comes after the loss, which must be the last node", name);
  const ValueId value = static_cast<ValueId>(values_.size());
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({std::string(name), op, std::move(inputs), value, std::move(parameters)});
  values_.push_back({output, id});
  return value;
}

ParamId Graph::add_parameter(std::string name, const Shape& shape, ParamRole role, const Initializer& init) {
  check_name(name);
  for (const Parameter& other : parameters_)
    if (other.name == name)
      throw make_error(Status::configuration, "the graph has two parameters named '{}'", name);
  parameters_.push_back({std::move(name), shape, role, init, Placement::replicated});
  return static_cast<ParamId>(parameters_.size()) - 1;
}

ValueId Graph::build(std::string_view name, const OpAttributes& op, std::vector<ValueId> inputs,
                     Initializer::Kind weight_init) {
  std::vector<Shape> shapes;
  for (ValueId input : inputs) {
    TRIREME_ASSERT(input >= 0 && input < static_cast<ValueId>(values_.size()),
                   "inputs are values of this graph");
    shapes.push_back(value(input).shape);
  }
  const Shape output = infer_shape(name, op, shapes);
  std::vector<ParamId> parameters;
  for (const ParameterSpec& spec : parameters_of(op, shapes))
    parameters.push_back(add_parameter(fmt::format("{}.{}", name, spec.suffix), spec.shape, spec.role,
                                       initializer_of(spec, op, shapes, weight_init)));
  return append(name, op, std::move(inputs), output, std::move(parameters));
}

ValueId Graph::input(const Shape& image) {
  if (image.rank() != 3 ||
      std::any_of(image.begin(), image.end(), [](std::int64_t extent) { return extent <= 0; }))
    throw make_error(Status::configuration, "pictures must be [H,W,C] with positive extents, not {}",
                     image.text());
  return append("input", InputOp{}, {}, image);
}

ValueId Graph::conv2d(std::string_view name, ValueId x, const Conv2dOp& op, Initializer::Kind weight_init) {
  return build(name, op, {x}, weight_init);
}

ValueId Graph::batch_norm(std::string_view name, ValueId x, const BatchNormOp& op) {
  return build(name, op, {x}, Initializer::Kind::constant);
}

ValueId Graph::relu(std::string_view name, ValueId x) {
  return build(name, ReluOp{}, {x}, Initializer::Kind::constant);
}

ValueId Graph::max_pool(std::string_view name, ValueId x, const MaxPoolOp& op) {
  return build(name, op, {x}, Initializer::Kind::constant);
}

ValueId Graph::adaptive_avg_pool(std::string_view name, ValueId x, const AdaptiveAvgPoolOp& op) {
  return build(name, op, {x}, Initializer::Kind::constant);
}

ValueId Graph::linear(std::string_view name, ValueId x, const LinearOp& op, Initializer::Kind weight_init) {
  return build(name, op, {x}, weight_init);
}

ValueId Graph::dropout(std::string_view name, ValueId x, double probability) {
  const auto before = std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return std::holds_alternative<DropoutOp>(node.op);
  });
  return build(name, DropoutOp{probability, static_cast<int>(before)}, {x}, Initializer::Kind::constant);
}

ValueId Graph::add(std::string_view name, ValueId a, ValueId b) {
  return build(name, AddOp{}, {a, b}, Initializer::Kind::constant);
}

ValueId Graph::flatten(std::string_view name, ValueId x) {
  return build(name, FlattenOp{}, {x}, Initializer::Kind::constant);
}

ValueId Graph::softmax_cross_entropy(std::string_view name, ValueId logits, const SoftmaxCrossEntropyOp& op) {
  return build(name, op, {logits}, Initializer::Kind::constant);
}

void Graph::synchronize_batch_norm() {
  for (Node& node : nodes_)
    if (auto* norm = std::get_if<BatchNormOp>(&node.op)) norm->sync = true;
}

Shape Graph::image_shape() const {
  TRIREME_ASSERT(!nodes_.empty(), "the graph has an input");
  return values_.front().shape;
}

std::int64_t Graph::num_classes() const {
  TRIREME_ASSERT(!nodes_.empty() && std::holds_alternative<SoftmaxCrossEntropyOp>(nodes_.back().op),
                 "the graph ends in a loss");
  return value(nodes_.back().inputs[0]).shape[0];
}

std::int64_t Graph::num_trainable() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_)
    if (!parameter.is_statistic()) count += parameter.shape.count();
  return count;
}

void Graph::check_complete() const {
  if (nodes_.empty() || !std::holds_alternative<SoftmaxCrossEntropyOp>(nodes_.back().op))
    throw make_error(Status::configuration, "the graph does not end in softmax_cross_entropy");
  std::vector<bool> value_used(values_.size()), parameter_used(parameters_.size());
  for (const Node& node : nodes_) {
    for (ValueId input : node.inputs) value_used[static_cast<std::size_t>(input)] = true;
    for (ParamId parameter : node.parameters) parameter_used[static_cast<std::size_t>(parameter)] = true;
  }
  for (const Node& node : nodes_)
    if (!value_used[static_cast<std::size_t>(node.output)] && &node != &nodes_.back())
      throw make_error(Status::configuration, "nobody uses the output of '{}'", node.name);
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    if (!parameter_used[p])
      throw make_error(Status::configuration, "no node uses parameter '{}'", parameters_[p].name);
}

}  // namespace trireme
