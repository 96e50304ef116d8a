// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of a whole training step of a network in bf16 under the emulator, one image, and notes
// what each pass of each layer moves: as the CUDA device would run it, with batch norm statistics in the
// convolution's epilogue, ReLU and the residual's addition in the batch norm's pass, and sums of gradients in
// the convolution's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/kernel_report/device_values.h"
#include "bench/kernel_report/pass.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/step_values.h"
#include "src/graph/graph.h"

namespace trireme::bench {

class EmulatedNetwork {
 public:
  /// Tiles are those of a step of `batch` images.
  EmulatedNetwork(const Graph& graph, std::int64_t batch);
  std::vector<Pass> run();

 private:
  using T = kernels::BFloat16;

  struct Value {
    T* data = nullptr;
    T* gradient = nullptr;
    std::int64_t h = 1, w = 1, channels = 0, pitch = 0;
    bool has_gradient = false;  ///< some consumer's backward has written it
    bool is_relu = false;       ///< its gradient is wanted where it is positive only
    std::int64_t rows() const { return h * w; }
  };
  struct BatchNormMemory {
    float *tiles, *mean, *inverse_deviation, *parameters, *gradients, *sums, *coefficients;
    std::uint8_t *workspace, *signs;
  };

  void forward(const Node& node);
  void backward(const Node& node);
  void update();

  void forward_convolution(const Node& node, const Conv2dOp& op);
  void backward_convolution(const Node& node, const Conv2dOp& op);
  void forward_batch_norm(const Node& node, const BatchNormOp& op);
  void backward_batch_norm(const Node& node, const BatchNormOp& op);
  void forward_max_pool(const Node& node, const MaxPoolOp& op);
  void backward_max_pool(const Node& node, const MaxPoolOp& op);
  void forward_average(const Node& node, const AdaptiveAvgPoolOp& op);
  void backward_average(const Node& node, const AdaptiveAvgPoolOp& op);
  void forward_linear(const Node& node, const LinearOp& op);
  void backward_linear(const Node& node, const LinearOp& op);
  void forward_dropout(const Node& node, const DropoutOp& op);
  void backward_dropout(const Node& node, const DropoutOp& op);
  void forward_flatten(const Node& node);
  void backward_flatten(const Node& node);
  void loss(const Node& node, const SoftmaxCrossEntropyOp& op);

  Value& value(ValueId id) { return values_.at(static_cast<std::size_t>(id)); }
  kernels::Conv2dShape shape_of(const Node& node, const Conv2dOp& op, std::int64_t batch) const;
  kernels::BatchNormShape shape_of_rows(const Value& value) const;
  /// The batch norm that takes the node's output alone, or null.
  const Node* batch_norm_behind(const Node& node) const;
  /// The addition that a batch norm's pass takes over, or null.
  const Node* addition_behind(const Node& node) const;
  int uses(ValueId id) const;
  BatchNormMemory& memory_of(const Node& batch_norm);
  /// Flops of matrix products, padding included: of one image, which must be what was counted, and of the
  /// batch.
  struct Flops {
    double one, batch;
  };
  void record(const std::string& layer, const std::string& pass, Flops flops = {},
              double more_step_bytes = 0);

  const Graph& graph_;
  std::int64_t batch_;
  DeviceMemory memory_;
  kernels::StepValues* step_values_;
  std::vector<Value> values_;
  std::map<NodeId, BatchNormMemory> batch_norms_;
  std::map<NodeId, T*> packed_weights_;
  std::map<NodeId, std::uint8_t*> places_;
  std::vector<Pass> passes_;
};

}  // namespace trireme::bench
