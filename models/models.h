// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/shape.h"
#include "src/graph/graph.h"

namespace trireme {

struct ModelOptions {
  Shape image;  ///< [H,W,C]
  std::int64_t num_classes = 0;
  double label_smoothing = 0;
  double dropout = 0.5;  ///< of the nets that have dropout layers
};

/// One row of the table of networks.
struct Model {
  std::string_view name;
  std::string_view summary;
  Graph (*build)(const ModelOptions& options);
};

/// All networks, in the order of the help text.
const std::vector<Model>& all_models();
/// Builds by name; Error (status 78) with the nearest name if there is none.
Graph build_model(std::string_view name, const ModelOptions& options);

}  // namespace trireme
