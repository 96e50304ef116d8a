// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "src/comm/communicator.h"
#include "src/exchange/bucket_plan.h"
#include "src/exchange/gradient_exchange.h"
#include "src/exchange/narrow_wire.h"
#include "src/optim/optimizer.h"

namespace trireme {

struct AllReduceExchangeOptions {
  double clip_norm = 0;  ///< 0: no clipping
  bool nan_guard = true;
  DType wire = DType::f32;  ///< what gradients travel as: f32, bf16 or f16 (see NarrowWire)
  std::optional<WireMemory> wire_memory = {};  ///< of a narrow wire; nothing: the host's
  bool skips_overflows = false;  ///< of a scaled loss: a gradient that is not finite changes nothing, and
                                 ///< that is no error

  bool checks_finite() const { return nan_guard || skips_overflows; }
};

/// Allreduce of the gradient buckets, as fp32 in place, then the same optimizer step on every rank. Buckets
/// are stepped as they arrive where neither clipping nor the NaN guard needs the whole gradient, else in
/// finish_step. All references must outlive it.
class AllReduceExchange final : public GradientExchange {
 public:
  AllReduceExchange(const Graph& graph, const FlatLayout& layout, BucketPlan plan, Communicator& communicator,
                    Optimizer& optimizer, float* parameters, float* gradients, Stream& stream,
                    const AllReduceExchangeOptions& options);
  ~AllReduceExchange() override;

  void parameter_needed(ParamId parameter) override;
  void gradient_ready(ParamId parameter) override;
  void finish_step(double learning_rate) override;
  void settle() override;
  double measure_alone() override;
  double wait_seconds() const override;
  std::span<float> residual() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trireme
