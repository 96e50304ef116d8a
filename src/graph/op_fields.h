// SPDX-License-Identifier: Apache-2.0
// The attributes of each op by name, once, for writing and reading the text form of graphs.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "src/graph/graph.h"

namespace trireme {

/// An attribute that came later than the text form: a text that lacks it means `otherwise`, and it is written
/// only where it is something else.
template <typename T>
struct LaterField {
  T& value;
  T otherwise;
};

/// Calls field(name, member) for every attribute of the op, in the order of the text form; a member may be a
/// LaterField.
template <typename Field>
void visit_fields(InputOp&, Field&&) {}
template <typename Field>
void visit_fields(Conv2dOp& op, Field&& field) {
  field("out_channels", op.out_channels);
  field("kernel_h", op.kernel_h);
  field("kernel_w", op.kernel_w);
  field("stride_h", op.stride_h);
  field("stride_w", op.stride_w);
  field("pad_h", op.pad_h);
  field("pad_w", op.pad_w);
  field("bias", op.bias);
  field("relu", op.relu);
}
template <typename Field>
void visit_fields(BatchNormOp& op, Field&& field) {
  field("epsilon", op.epsilon);
  field("momentum", op.momentum);
  field("relu", op.relu);
  field("sync", LaterField<bool>{op.sync, false});
  field("residual", LaterField<bool>{op.residual, false});
}
template <typename Field>
void visit_fields(ReluOp&, Field&&) {}
template <typename Field>
void visit_fields(MaxPoolOp& op, Field&& field) {
  field("kernel_h", op.kernel_h);
  field("kernel_w", op.kernel_w);
  field("stride_h", op.stride_h);
  field("stride_w", op.stride_w);
  field("pad_h", op.pad_h);
  field("pad_w", op.pad_w);
}
template <typename Field>
void visit_fields(AdaptiveAvgPoolOp& op, Field&& field) {
  field("out_h", op.out_h);
  field("out_w", op.out_w);
}
template <typename Field>
void visit_fields(LinearOp& op, Field&& field) {
  field("out_features", op.out_features);
  field("bias", op.bias);
  field("relu", LaterField<bool>{op.relu, false});
}
template <typename Field>
void visit_fields(DropoutOp& op, Field&& field) {
  field("probability", op.probability);
  field("ordinal", op.ordinal);
}
template <typename Field>
void visit_fields(AddOp& op, Field&& field) {
  field("relu", op.relu);
}
template <typename Field>
void visit_fields(FlattenOp&, Field&&) {}
template <typename Field>
void visit_fields(SoftmaxCrossEntropyOp& op, Field&& field) {
  field("label_smoothing", op.label_smoothing);
}

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

inline constexpr std::array<EnumName<ParamRole>, 7> kRoleNames = {{
    {ParamRole::conv_weight, "conv_weight"},
    {ParamRole::linear_weight, "linear_weight"},
    {ParamRole::bias, "bias"},
    {ParamRole::norm_weight, "norm_weight"},
    {ParamRole::norm_bias, "norm_bias"},
    {ParamRole::running_mean, "running_mean"},
    {ParamRole::running_var, "running_var"},
}};
inline constexpr std::array<EnumName<Initializer::Kind>, 4> kInitializerNames = {{
    {Initializer::Kind::constant, "constant"},
    {Initializer::Kind::normal, "normal"},
    {Initializer::Kind::kaiming_normal, "kaiming_normal"},
    {Initializer::Kind::fan_in_uniform, "fan_in_uniform"},
}};
inline constexpr std::array<EnumName<Placement>, 1> kPlacementNames = {
    {{Placement::replicated, "replicated"}}};

}  // namespace trireme
