// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "src/device/device.h"
#include "src/graph/graph.h"

namespace trireme {

/// The graph with every ReLU merged into its producer where `fusions` has the pattern and nobody else uses
/// the value between them. Parameters and their ids are the same; the merged node keeps the producer's name
/// and place.
Graph fuse(const Graph& graph, std::span<const Fusion> fusions);

}  // namespace trireme
