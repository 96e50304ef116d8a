// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/optim/optimizer.h"

namespace trireme {

/// What optimizers over host memory share: the looks at the whole gradient. A subclass knows how to step a
/// range.
class HostOptimizer : public Optimizer {
 public:
  void inspect(ElementRange range, const float* gradients) final;
  bool step_if_finite(float* parameters, const float* gradients, double learning_rate,
                      double clip_norm) final;
  void step_clipped(float* parameters, const float* gradients, double learning_rate, double clip_norm) final;

 protected:
  HostOptimizer(const Graph& graph, FlatLayout layout);
  const FlatLayout& layout() const { return layout_; }

 private:
  Graph graph_;
  FlatLayout layout_;
  bool finite_ = true;  ///< what was inspected since the last step
};

}  // namespace trireme
