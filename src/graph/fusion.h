// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "src/device/device.h"
#include "src/graph/graph.h"

namespace trireme {

/// The graph with what `fusions` names merged, where nobody else uses the value between the two nodes: a ReLU
/// into its producer, which keeps its name and place; a batch norm into the addition of its output, at the
/// addition's place and with the batch norm's name, since the other summand may be made after the batch norm.
/// Parameters and their ids are the same.
Graph fuse(const Graph& graph, std::span<const Fusion> fusions);

}  // namespace trireme
