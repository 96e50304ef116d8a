// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// By what a loss is multiplied before its gradients are rounded to 16 bits, and how the factor came to be:
/// it falls where a gradient overflows and rises after many that did not.
struct LossScale {
  float scale = 1;
  std::int32_t good_steps = 0;  ///< since it last changed
  std::int64_t skipped = 0;     ///< steps of the run that changed nothing
  friend bool operator==(const LossScale&, const LossScale&) = default;
};

/// Updates ranges of the flat parameter buffer from the same ranges of the gradient buffer. Each element's
/// result depends only on its own inputs, so any cutting into ranges gives the same bits. BN statistics are
/// entries whose rule is the moving average: p = (1 - m) p + m g; they know neither decay nor momentum nor
/// clipping. Buffers are in the memory of the device that it was made for, and steps are ordered on that
/// device's compute stream.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// `gradient_factor` multiplies gradients of parameters (clipping), not statistics.
  virtual void step(ElementRange range, float* parameters, const float* gradients, double learning_rate,
                    double gradient_factor) = 0;
  /// This part of the gradient, summed, is in the buffer: it is looked through for values that are not
  /// finite. Each part once before step_if_finite.
  virtual void inspect(ElementRange range, const float* gradients) = 0;
  /// Steps all parameters, with the gradient clipped to `clip_norm` (0: not), if all that was inspected is
  /// finite; else changes nothing and returns false. The answer is waited for, the step is not.
  virtual bool step_if_finite(float* parameters, const float* gradients, double learning_rate,
                              double clip_norm) = 0;
  /// Steps all parameters, with the gradient clipped to `clip_norm`.
  virtual void step_clipped(float* parameters, const float* gradients, double learning_rate,
                            double clip_norm) = 0;
  virtual std::vector<OptimizerState> state() = 0;
  /// Of devices that scale the loss; a step that overflows is then skipped, and no error. Waits for all
  /// steps.
  virtual std::optional<LossScale> loss_scale() { return std::nullopt; }
  virtual void set_loss_scale(const LossScale& /*scale*/) {}
};

/// What clipping multiplies gradients by, as PyTorch's clip_grad_norm_; 1 for a `clip_norm` of 0.
double clip_factor(double clip_norm, double squared_norm);

std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options, BufferSource& memory);

enum class UpdateRule {
  decayed,   ///< the update, with weight decay
  exempt,    ///< the update without decay
  statistic  ///< moving average
};
UpdateRule update_rule(const Parameter& parameter, bool decay_norm_and_bias);

/// Sum of squares of gradients of trainable parameters (statistics and gaps excluded), in float64, in a fixed
/// order.
double squared_norm(const Graph& graph, const FlatLayout& layout, const float* gradients);
/// Whether every element of the range is finite.
bool all_finite(const float* values, std::size_t count);

}  // namespace trireme
