// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/graph/flat_layout.h"
#include "src/graph/graph.h"

namespace trireme {

/// Draws every parameter's first value into the flat buffer. Parameter p (its ordinal in the graph) uses
/// Philox(seed, RandomStream::initialisation, 0, p); convolution weights are drawn in OIHW order and stored
/// OHWI.
void initialize_parameters(const Graph& graph, const FlatLayout& layout, std::uint64_t seed,
                           float* parameters);

/// Copies one parameter between its flat form (OHWI for convolutions) and its file form (OIHW, as
/// torchvision).
void to_file_order(const Parameter& parameter, const float* flat, float* file);
void from_file_order(const Parameter& parameter, const float* file, float* flat);
/// The file form's extents: [O,I,H,W] for convolution weights, else Parameter::shape.
Shape file_shape(const Parameter& parameter);

}  // namespace trireme
