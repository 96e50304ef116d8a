// SPDX-License-Identifier: Apache-2.0
// Which layers of a network have matrix products in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace trireme {

/// A convolution or linear layer, and how many like it the network has.
struct BenchLayer {
  std::string name;  ///< of the first of them
  int count = 0;
  OpAttributes op;
  Shape input, output;  ///< of one picture
  bool feeds_batch_norm = false;
  bool has_input_gradient = true;  ///< not so for the first layer

  std::int64_t weights() const;
  bool has_bias() const;
  /// Multiplications and additions of one pass for one picture.
  double flops() const;
  /// "56x56x64 to 256, 1x1"
  std::string text() const;
};

/// In the network's order, each kind once, those whose name contains `only`.
std::vector<BenchLayer> bench_layers(const Graph& graph, const std::string& only);

}  // namespace trireme
