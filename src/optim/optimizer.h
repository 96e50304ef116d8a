// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/core/buffer.h"
#include "src/graph/flat_layout.h"

namespace trireme {

/// A half-open range of elements of the flat buffers.
struct ElementRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

struct OptimizerOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;       ///< L2, added to the gradient
  bool decay_norm_and_bias = true;  ///< false: BN weights and all biases are exempt
  double norm_momentum = 0.1;       ///< of BN running statistics
};

/// Named flat state of an optimizer, in the order and size of the parameter buffer; checkpoints store it by
/// tensor.
struct OptimizerState {
  std::string name;  ///< "momentum"
  float* values = nullptr;
};

/// Updates ranges of the flat parameter buffer from the same ranges of the gradient buffer. Each element's
/// result depends only on its own inputs, so any cutting into ranges gives the same bits. BN statistics are
/// entries whose rule is the moving average: p = (1 - m) p + m g; they know neither decay nor momentum nor
/// clipping.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// `gradient_factor` multiplies gradients of parameters (clipping), not statistics.
  virtual void step(ElementRange range, float* parameters, const float* gradients, double learning_rate,
                    double gradient_factor) = 0;
  virtual std::vector<OptimizerState> state() = 0;
};

std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options, BufferSource& memory);

/// Sum of squares of gradients of trainable parameters (statistics and gaps excluded), in float64, in a fixed
/// order.
double squared_norm(const Graph& graph, const FlatLayout& layout, const float* gradients);
/// Whether every element of the range is finite.
bool all_finite(const float* values, std::size_t count);

}  // namespace trireme
