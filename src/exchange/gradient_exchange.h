// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "src/graph/graph.h"

namespace trireme {

/// Thrown by finish_step when the summed gradient is not finite, before any parameter has changed; the same
/// on every rank. The trainer turns it into a message that names step and layer.
struct NonFiniteGradient {};

/// Turns local gradients into updated parameters that are equal on every rank. The training loop calls it in
/// this order each step; it cannot tell allreduce with a local optimizer from a parameter server.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// Before a parameter's first use in forward: returns when it holds this step's value (or lets the stream
  /// wait).
  virtual void parameter_needed(ParamId parameter) = 0;
  /// In FlatLayout order during the last micro-batch's backward; complete buckets leave in plan order.
  virtual void gradient_ready(ParamId parameter) = 0;
  /// After backward. The update is settled at the latest when a parameter is needed.
  virtual void finish_step(double learning_rate) = 0;
  /// Returns when all parameters and statistics hold their values: before evaluation and checkpoints.
  virtual void settle() = 0;
  /// Seconds that one exchange of the whole gradient takes while nothing is computed; 0 where there is nobody
  /// to exchange with, or where waits are the device's and not seen by this rank's clock. Collective; before
  /// the first step, while the gradient is zero.
  virtual double measure_alone() = 0;
  /// Seconds that this rank has blocked for communication since construction.
  virtual double wait_seconds() const = 0;
  /// What this rank's compression still owes the sum, in the order of the flat buffers, for checkpoints;
  /// empty without compression. Between steps.
  virtual std::span<float> residual() = 0;
};

}  // namespace trireme
