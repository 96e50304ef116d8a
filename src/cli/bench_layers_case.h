// SPDX-License-Identifier: Apache-2.0
// One layer on one device: bound to memory of its own, run and timed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "src/cli/bench_layers_list.h"
#include "src/device/device.h"

namespace trireme {

/// Dense numbers in logical order, all multiples of 1/64 from -1 to 1: every precision holds them exactly.
std::vector<float> exact_numbers(std::int64_t count, std::uint32_t seed);

/// A value in the device's layout, and its memory.
struct StagedValue {
  ValueSpec spec;
  std::unique_ptr<Buffer> memory;
};

/// What a layer made, dense and in logical order.
struct LayerResults {
  std::vector<float> y, dx, dweights, dbias;  ///< dx is empty where the layer has no input gradient
};

class LayerCase {
 public:
  /// Plans the layer for `batch` pictures and takes memory for it. `device` must outlive this.
  LayerCase(Device& device, const BenchLayer& layer, std::int64_t batch);

  /// Sets weights and bias.
  void fill_parameters(const std::vector<float>& weights, const std::vector<float>& bias);
  /// Sets input and output gradient, in logical order; that of the output as [N, C*H*W] in the order C,H,W.
  void fill_values(const std::vector<float>& x, const std::vector<float>& dy);
  /// Sets them to those of `small`, over and over.
  void fill_values(const LayerCase& small);

  void forward();
  /// Gradients of the parameters, and that of the input where wanted.
  void backward(bool input_gradient);
  LayerResults results();

  /// Seconds of one run of `pass`: the better of two rounds that take about `seconds` each, after one run
  /// that warms up.
  double time(const std::function<void()>& pass, double seconds);
  /// Bytes that a pass must move at least: input, output and weights, each once.
  double bytes() const;

 private:
  StagedValue stage(const Shape& shape, const std::vector<float>& values);
  StagedValue stage_rows(std::int64_t features, const std::vector<float>& values);
  void bind();
  RunContext context() const;
  void copy(void* to, const void* from, std::size_t bytes);

  Device& device_;
  const BenchLayer& layer_;
  std::int64_t batch_;
  StagedValue x_;
  std::unique_ptr<OpPlan> plan_;
  std::unique_ptr<Buffer> y_, dy_, dx_, weights_, bias_, dweights_, dbias_, saved_, scratch_, step_, ids_;
  std::unique_ptr<Op> forward_, backward_, backward_of_parameters_;
};

}  // namespace trireme
