// SPDX-License-Identifier: Apache-2.0
// Between the flat buffers of a run and the named tensors of a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "src/checkpoint/checkpoint.h"
#include "src/graph/flat_layout.h"
#include "src/graph/graph.h"

namespace trireme {

/// One tensor per parameter in graph order, in file order (OIHW). Without `statistics` the BN statistics are
/// left out: optimizer state has none for them.
std::vector<NamedTensor> named_tensors(const Graph& graph, const FlatLayout& layout, const float* flat,
                                       bool statistics);

/// The way back, by name. Status 78 if a tensor is missing, is not the graph's or has another shape; `source`
/// is named then.
void fill_flat(const Graph& graph, const FlatLayout& layout, const std::vector<NamedTensor>& tensors,
               bool statistics, const std::string& source, float* flat);

}  // namespace trireme
