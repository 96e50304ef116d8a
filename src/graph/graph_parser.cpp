// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/core/error.h"
#include "src/core/parse.h"
#include "src/graph/graph.h"
#include "src/graph/infer.h"
#include "src/graph/op_fields.h"

namespace trireme {

namespace {

// Nearest known name, as the hint of an error.
Error unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  Error error = make_error(Status::bad_data, "unknown {} '{}'", what, word);
  const std::string nearest = nearest_name(word, known);
  const std::string hint = nearest.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                           : fmt::format("did you mean {}?", nearest);
  return std::move(error).hint(hint);
}

Shape parse_shape(std::string_view text) {
  Error refusal = make_error(Status::bad_data, "'{}' is not a shape such as [32,32,3]", text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') throw refusal;
  Shape shape;
  const std::vector<std::string> parts = split(text.substr(1, text.size() - 2), ',');
  if (parts.size() > static_cast<std::size_t>(Shape::kMaxRank)) throw refusal;
  // Extents are appended from the outermost: a shape grows only at its front.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const auto extent = parse_int(*part);
    if (!extent || *extent <= 0) throw refusal;
    shape = shape.with_outer(*extent);
  }
  return shape;
}

template <typename Enum, std::size_t N>
Enum parse_enum(std::string_view what, std::string_view word, const std::array<EnumName<Enum>, N>& names) {
  std::vector<std::string> known;
  for (const auto& row : names) {
    if (row.name == word) return row.value;
    known.emplace_back(row.name);
  }
  throw unknown_name(what, word, known);
}

// The words of a line: kind, name, then key=value, each key taken exactly once.
class Line {
 public:
  explicit Line(std::string_view text) {
    std::vector<std::string> words = split(text, ' ');
    std::erase(words, "");
    if (words.size() < 2) throw make_error(Status::bad_data, "'{}' has no kind and name", text);
    kind = words[0];
    name = words[1];
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string::npos) throw make_error(Status::bad_data, "'{}' is not key=value", words[i]);
      const std::string key = words[i].substr(0, equals);
      if (!values_.emplace(key, words[i].substr(equals + 1)).second)
        throw make_error(Status::bad_data, "{} '{}' has '{}' twice", kind, name, key);
    }
  }

  std::string take(std::string_view key) {
    known_.emplace_back(key);
    auto found = values_.extract(std::string(key));
    if (found.empty()) throw make_error(Status::bad_data, "{} '{}' has no '{}'", kind, name, key);
    return found.mapped();
  }

  template <typename T>
  void take(std::string_view key, const LaterField<T>& field) {
    field.value = field.otherwise;
    if (values_.contains(std::string(key)))
      take(key, field.value);
    else
      known_.emplace_back(key);
  }
  void take(std::string_view key, bool& field) { assign(key, field, parse_bool); }
  void take(std::string_view key, double& field) { assign(key, field, parse_double); }
  void take(std::string_view key, std::int64_t& field) { assign(key, field, parse_int); }
  void take(std::string_view key, int& field) {
    std::int64_t wide = 0;
    take(key, wide);
    field = static_cast<int>(wide);
    if (field != wide) throw make_error(Status::bad_data, "'{}={}' is out of range", key, wide);
  }

  void check_all_taken() const {
    if (!values_.empty()) throw unknown_name("attribute", values_.begin()->first, known_);
  }

  std::string kind, name;

 private:
  template <typename T, typename Parse>
  void assign(std::string_view key, T& field, Parse&& parse) {
    const std::string text = take(key);
    const auto value = parse(text);
    if (!value) throw make_error(Status::bad_data, "'{}={}' cannot be read", key, text);
    field = *value;
  }

  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

// An op of the given kind with default attributes, by walking the alternatives of the variant.
template <std::size_t Index = 0>
OpAttributes default_op(std::string_view kind, std::vector<std::string> passed = {"parameter"}) {
  if constexpr (Index == std::variant_size_v<OpAttributes>) {
    throw unknown_name("op", kind, passed);
  } else {
    const OpAttributes op(std::in_place_index<Index>);
    if (op_name(op) == kind) return op;
    passed.emplace_back(op_name(op));
    return default_op<Index + 1>(kind, std::move(passed));
  }
}

}  // namespace

/// Reads a graph line by line; each node is checked against what its attributes and inputs imply.
class GraphParser {
 public:
  void read_line(std::string_view text) {
    Line line(text);
    if (line.kind == "parameter")
      read_parameter(line);
    else
      read_node(line);
    line.check_all_taken();
  }

  Graph finish() {
    for (const Parameter& parameter : graph_.parameters_)
      if (uses_[parameter.name] == 0)
        throw make_error(Status::bad_data, "no node uses parameter '{}'", parameter.name);
    return std::move(graph_);
  }

 private:
  void read_parameter(Line& line) {
    const Shape shape = parse_shape(line.take("shape"));
    const ParamRole role = parse_enum("role", line.take("role"), kRoleNames);
    Initializer init;
    init.kind = parse_enum("initialiser", line.take("init"), kInitializerNames);
    line.take("value", init.value);
    line.take("fan", init.fan);
    const bool scaled_by_fan =
        init.kind == Initializer::Kind::kaiming_normal || init.kind == Initializer::Kind::fan_in_uniform;
    if (scaled_by_fan && init.fan <= 0)
      throw make_error(Status::bad_data, "parameter '{}': this initialiser needs a positive fan", line.name);
    const Placement placement = parse_enum("placement", line.take("placement"), kPlacementNames);
    const ParamId id = graph_.add_parameter(line.name, shape, role, init);
    graph_.parameters_[static_cast<std::size_t>(id)].placement = placement;
    parameter_ids_[line.name] = id;
  }

  void read_node(Line& line) {
    OpAttributes op = default_op(line.kind);
    const Shape shape = parse_shape(line.take("shape"));
    std::vector<ValueId> inputs = ids_of("node", split(line.take("from"), ','), value_ids_);
    std::vector<ParamId> parameters = ids_of("parameter", split(line.take("params"), ','), parameter_ids_);
    std::visit(
        [&](auto& attributes) {
          visit_fields(attributes, [&](std::string_view key, auto&& field) { line.take(key, field); });
        },
        op);
    check_shapes(line, op, inputs, parameters, shape);
    const ValueId value = graph_.append(line.name, op, std::move(inputs), shape, std::move(parameters));
    value_ids_[line.name] = value;
  }

  static std::vector<int> ids_of(std::string_view what, const std::vector<std::string>& names,
                                 const std::map<std::string, int>& known) {
    std::vector<int> ids;
    for (const std::string& name : names) {
      const auto found = known.find(name);
      if (found == known.end())
        throw make_error(Status::bad_data, "{} '{}' is not defined above", what, name);
      ids.push_back(found->second);
    }
    return ids;
  }

  void check_shapes(const Line& line, const OpAttributes& op, const std::vector<ValueId>& inputs,
                    const std::vector<ParamId>& parameters, const Shape& stated) {
    std::vector<Shape> shapes;
    shapes.reserve(inputs.size());
    for (ValueId input : inputs) shapes.push_back(graph_.value(input).shape);
    if (std::holds_alternative<InputOp>(op)) {
      if (!inputs.empty() || !parameters.empty() || stated.rank() != 3)
        throw make_error(Status::bad_data, "the input must be a picture [H,W,C] without 'from' and 'params'");
      return;
    }
    const Shape inferred = infer_shape(line.name, op, shapes);
    if (inferred != stated)
      throw make_error(Status::bad_data, "{} '{}' gives {}, not {}", line.kind, line.name, inferred.text(),
                       stated.text());
    check_parameters(line, parameters_of(op, shapes), parameters);
  }

  void check_parameters(const Line& line, const std::vector<ParameterSpec>& wanted,
                        const std::vector<ParamId>& parameters) {
    if (wanted.size() != parameters.size())
      throw make_error(Status::bad_data, "{} '{}' has {} parameters, not {}", line.kind, line.name,
                       wanted.size(), parameters.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Parameter& parameter = graph_.parameter(parameters[i]);
      if (parameter.role != wanted[i].role || parameter.shape != wanted[i].shape)
        throw make_error(Status::bad_data, "{} '{}' needs a {} {}, which '{}' {} is not", line.kind,
                         line.name, wanted[i].suffix, wanted[i].shape.text(), parameter.name,
                         parameter.shape.text());
      if (++uses_[parameter.name] > 1 && parameter.is_statistic())
        throw make_error(Status::bad_data, "two nodes use '{}', but running statistics cannot be shared",
                         parameter.name);
    }
  }

  Graph graph_;
  std::map<std::string, int> value_ids_, parameter_ids_, uses_;
};

Graph parse_graph(std::string_view text) {
  constexpr std::string_view kHeader = "trireme_graph 1";
  GraphParser parser;
  int number = 0;
  try {
    for (const std::string& line : split(text, '\n')) {
      ++number;
      if (number == 1 && line != kHeader)
        throw make_error(Status::bad_data, "a graph begins with '{}', not '{}'", kHeader, line.substr(0, 40));
      if (number > 1 && !line.empty() && line.front() != '#') parser.read_line(line);
    }
    if (number == 0) throw make_error(Status::bad_data, "the text of a graph is empty");
    return parser.finish();
  } catch (const Error& error) {
    const std::string place = fmt::format("line {} of the graph's text", number);
    if (error.status() == Status::bad_data) throw Error(error).at(place);
    // What the builder refuses as a wrong setting is, in a file, bad data. Its hints are for people who
    // build.
    const std::string_view what = error.what();
    throw Error(Status::bad_data, std::string(what.substr(0, what.find('\n')))).at(place);
  }
}

}  // namespace trireme
