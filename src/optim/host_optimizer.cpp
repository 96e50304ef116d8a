// SPDX-License-Identifier: Apache-2.0
#include "src/optim/host_optimizer.h"

#include <utility>

namespace trireme {

HostOptimizer::HostOptimizer(const Graph& graph, FlatLayout layout)
    : graph_(graph), layout_(std::move(layout)) {}

void HostOptimizer::inspect(ElementRange range, const float* gradients) {
  finite_ = finite_ && all_finite(gradients + range.begin, range.size());
}

bool HostOptimizer::step_if_finite(float* parameters, const float* gradients, double learning_rate,
                                   double clip_norm) {
  const bool finite = std::exchange(finite_, true);
  if (finite) step_clipped(parameters, gradients, learning_rate, clip_norm);
  return finite;
}

void HostOptimizer::step_clipped(float* parameters, const float* gradients, double learning_rate,
                                 double clip_norm) {
  const double squared = clip_norm > 0 ? squared_norm(graph_, layout_, gradients) : 0;
  step({0, layout_.elements}, parameters, gradients, learning_rate, clip_factor(clip_norm, squared));
}

}  // namespace trireme
