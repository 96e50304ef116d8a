// SPDX-License-Identifier: Apache-2.0
// A network as pure data: nodes, values, parameters. No device, no rank, no batch size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/shape.h"
#include "src/device/op.h"

namespace trireme {

using ValueId = int;
using ParamId = int;
using NodeId = int;

enum class ParamRole { conv_weight, linear_weight, bias, norm_weight, norm_bias, running_mean, running_var };

/// How the first value of a parameter is drawn (in file order, OIHW, from the counter RNG; see initialize.h).
struct Initializer {
  enum class Kind {
    constant,        ///< every element = value
    normal,          ///< N(0, value^2)
    kaiming_normal,  ///< N(0, 2 / fan_out), torchvision's mode="fan_out", nonlinearity="relu"
    fan_in_uniform   ///< U(-1/sqrt(fan_in), +), PyTorch's default of Linear and Conv2d weights and biases
  };
  Kind kind = Kind::constant;
  double value = 0;
  std::int64_t fan = 0;  ///< fan_out or fan_in, fixed when the parameter is made
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

enum class Placement { replicated };

struct Parameter {
  std::string name;  ///< torchvision's state_dict name: "layer1.0.conv1.weight"
  Shape shape;       ///< as in the flat buffer: OHWI, [out,in], [C]
  ParamRole role = ParamRole::bias;
  Initializer init;
  Placement placement = Placement::replicated;

  bool is_statistic() const { return role == ParamRole::running_mean || role == ParamRole::running_var; }
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Value {
  Shape shape;  ///< of one sample: [H,W,C] or [F]; [] for the loss
  NodeId producer = -1;
  friend bool operator==(const Value&, const Value&) = default;
};

struct Node {
  std::string name;  ///< module path: "layer1.0.conv1"
  OpAttributes op;
  std::vector<ValueId> inputs;
  ValueId output = -1;
  std::vector<ParamId> parameters;  ///< in the role order that the op's comment states
  friend bool operator==(const Node&, const Node&) = default;
};

/// Built by its verbs, each of which infers the output shape and refuses impossible ones (Error, status 78).
/// Node order is execution order. Parameters are in order of definition, which is torchvision's.
class Graph {
 public:
  ValueId input(const Shape& image);  ///< [H,W,C]; exactly once, first
  ValueId conv2d(std::string_view name, ValueId x, const Conv2dOp& op, Initializer::Kind weight_init);
  ValueId batch_norm(std::string_view name, ValueId x, const BatchNormOp& op = {});
  ValueId relu(std::string_view name, ValueId x);
  ValueId max_pool(std::string_view name, ValueId x, const MaxPoolOp& op);
  ValueId adaptive_avg_pool(std::string_view name, ValueId x, const AdaptiveAvgPoolOp& op);
  /// `weight_init` normal uses standard deviation 0.01 and zero bias (torchvision's VGG).
  ValueId linear(std::string_view name, ValueId x, const LinearOp& op, Initializer::Kind weight_init);
  ValueId dropout(std::string_view name, ValueId x, double probability);
  ValueId add(std::string_view name, ValueId a, ValueId b);
  ValueId flatten(std::string_view name, ValueId x);
  /// The last node: its input are the logits, its output the loss.
  ValueId softmax_cross_entropy(std::string_view name, ValueId logits, const SoftmaxCrossEntropyOp& op = {});

  /// Sets BatchNormOp::sync of every batch norm.
  void synchronize_batch_norm();

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const Parameter& parameter(ParamId id) const { return parameters_[static_cast<std::size_t>(id)]; }

  Shape image_shape() const;         ///< [H,W,C]
  std::int64_t num_classes() const;  ///< features of the logits
  /// Elements of all parameters but BN statistics: the number that papers quote.
  std::int64_t num_trainable() const;

  /// One line per node, readable and writable; `parse_graph(text()) == *this` in everything.
  std::string text() const;

  /// Refuses (78) what cannot be trained: no input or loss, the loss not last, a value or parameter without
  /// use.
  void check_complete() const;
  friend bool operator==(const Graph&, const Graph&) = default;

 private:
  friend class GraphParser;
  friend class GraphRewriter;
  /// Infers the output shape, makes the node's parameters and appends it.
  ValueId build(std::string_view name, const OpAttributes& op, std::vector<ValueId> inputs,
                Initializer::Kind weight_init);
  ValueId append(std::string_view name, const OpAttributes& op, std::vector<ValueId> inputs,
                 const Shape& output, std::vector<ParamId> parameters = {});
  ParamId add_parameter(std::string name, const Shape& shape, ParamRole role, const Initializer& init);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Parameter> parameters_;
};

/// Reads Graph::text(); Error (status 65) with the line number on anything else.
Graph parse_graph(std::string_view text);

}  // namespace trireme
