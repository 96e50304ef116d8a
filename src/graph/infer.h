// SPDX-License-Identifier: Apache-2.0
// What follows from an op's attributes and its input shapes: the output shape and the parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"

namespace trireme {

/// Shape of one sample of the output of `op` (no InputOp: its shape is given, not inferred). Error (78) that
/// names node and shapes if the op cannot take these inputs or has impossible attributes.
Shape infer_shape(std::string_view node, const OpAttributes& op, std::span<const Shape> inputs);

/// A parameter that an op has: name "<node>.<suffix>", shape as in the flat buffer.
struct ParameterSpec {
  std::string_view suffix;
  ParamRole role = ParamRole::bias;
  Shape shape;
};

/// In the role order of the op's comment; the inputs are ones that infer_shape accepts.
std::vector<ParameterSpec> parameters_of(const OpAttributes& op, std::span<const Shape> inputs);

/// How a parameter of that role starts when the op's weights are drawn by `weight_init`.
Initializer initializer_of(const ParameterSpec& spec, const OpAttributes& op, std::span<const Shape> inputs,
                           Initializer::Kind weight_init);

}  // namespace trireme
