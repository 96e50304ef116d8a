// SPDX-License-Identifier: Apache-2.0
// Batch norm, with the residual's addition and the ReLU in the same pass. In training:
//
//   forward    tiles (beside x, or of an own pass over it) -> [sums over all ranks] -> mean, deviation -> y
//   backward   sums over tiles -> [sums over all ranks] -> coefficients, parameter gradients -> dx
//
// With a residual and a ReLU the signs of y are saved, since y cannot be made again from x alone; backward
// then writes the cut gradient once, which is the residual's, and goes on from that. The running statistics'
// "gradients" are made in backward, with the parameters'.
#include "kernels/batch_norm/batch_norm.h"

#include "src/device/cuda/cuda_check.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

enum Parameter : std::size_t { kScale, kShift, kRunningMean, kRunningVariance };

kernels::BatchNormShape shape_of(const ValueSpec& x) {
  return {rows_of(x), static_cast<int>(channels_of(x)), static_cast<int>(pitch_of(x))};
}

/// Where what is kept from forward to backward lies.
struct Saved {
  explicit Saved(const kernels::BatchNormShape& shape)
      : mean(ranges.add(static_cast<std::size_t>(shape.channels) * sizeof(float))),
        inverse_deviation(ranges.add(static_cast<std::size_t>(shape.channels) * sizeof(float))),
        variance(ranges.add(static_cast<std::size_t>(shape.channels) * sizeof(float))),
        count(ranges.add(sizeof(double))) {}

  kernels::BatchNormSaved of(void* base) const {
    return {at<float>(base, mean), at<float>(base, inverse_deviation), at<float>(base, variance),
            at<double>(base, count)};
  }

  Ranges ranges;
  std::size_t mean, inverse_deviation, variance, count;
};

template <typename T>
class BatchNormPlan final : public CudaOpPlan {
 public:
  BatchNormPlan(const CudaEngine& engine, const OpRequest& request, const BatchNormOp& op)
      : CudaOpPlan(engine, request),
        op_(op),
        input_(request.inputs.at(0)),
        residual_(op.residual ? request.inputs.at(1) : ValueSpec{}),
        shape_(shape_of(input_)),
        tiles_(layout_of(input_).statistics.tiles > 0 ? layout_of(input_).statistics
                                                      : kernels::batch_norm_tiles<T>(shape_)),
        saved_(shape_) {
    facts_.output = cuda_value(request.output_shape, engine.element());
    facts_.output_may_overwrite_input = !training_;
    if (!training_) return;
    if (stores_signs())
      signs_ =
          saved_.ranges.add(static_cast<std::size_t>(shape_.rows * shape_.pitch / kernels::kVectorSize<T>));
    facts_.saved_bytes = saved_.ranges.end();
    plan_scratch();
    facts_.backward_needs_inputs = true;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.in_place_gradient = op.residual ? 1 : 0;
    if (op.sync)
      facts_.group_sums = {1 + 2 * static_cast<std::int64_t>(shape_.channels),
                           2 * static_cast<std::int64_t>(shape_.channels), "batch norm statistics"};
  }

 private:
  bool stores_signs() const { return op_.residual && op_.relu; }
  bool has_own_tiles() const { return layout_of(input_).statistics.tiles == 0; }

  void plan_scratch() {
    Ranges forward, backward;
    own_tiles_ =
        forward.add(has_own_tiles() ? kernels::tile_statistics_bytes(tiles_.tiles, shape_.pitch) : 0);
    workspace_ = forward.add(kernels::batch_norm_finish_workspace_bytes(tiles_.tiles, shape_.pitch));
    facts_.forward_scratch_bytes = forward.end();
    sums_ = backward.add(kernels::batch_norm_backward_sums_bytes<T>(shape_));
    coefficients_ = backward.add(2 * static_cast<std::size_t>(shape_.pitch) * sizeof(float));
    facts_.backward_scratch_bytes = backward.end();
  }

  kernels::BatchNormFactors training_factors(const Bindings& bindings) const {
    const kernels::BatchNormSaved saved = saved_.of(bindings.saved);
    return {bindings.parameters.at(kScale), bindings.parameters.at(kShift), saved.mean,
            saved.inverse_deviation};
  }

  /// Writes y from the statistics.
  Pass apply(const Bindings& bindings, const kernels::BatchNormFactors& factors) const {
    const auto* const residual = op_.residual ? static_cast<const T*>(bindings.inputs.at(1)) : nullptr;
    auto* const signs = training_ && stores_signs() ? at<std::uint8_t>(bindings.saved, signs_) : nullptr;
    return [y = static_cast<T*>(bindings.output), x = static_cast<const T*>(bindings.inputs.at(0)), residual,
            factors, relu = op_.relu, shape = shape_, stream = engine_.stream, signs](const RunContext&) {
      kernels::batch_norm_apply(y, x, residual, factors, relu, shape, stream, signs);
    };
  }

  /// What makes TileStatistics of x, and they.
  struct Tiles {
    kernels::TileStatistics statistics;
    float* own = nullptr;  ///< to be made first
  };
  Tiles tiles_of(const Bindings& bindings) const {
    if (!has_own_tiles()) return {statistics_beside(input_, bindings.inputs.at(0))};
    auto* const own = at<float>(bindings.scratch, own_tiles_);
    return {{own, tiles_.tiles, tiles_.rows_per_tile}, own};
  }

  Pass bind_forward(const Bindings& bindings) const override {
    if (!training_)
      return apply(bindings, {bindings.parameters.at(kScale), bindings.parameters.at(kShift),
                              bindings.parameters.at(kRunningMean), bindings.parameters.at(kRunningVariance),
                              true, static_cast<float>(op_.epsilon)});
    const Pass make_y = op_.sync ? Pass() : apply(bindings, training_factors(bindings));
    return [tiles = tiles_of(bindings), x = static_cast<const T*>(bindings.inputs.at(0)),
            saved = saved_.of(bindings.saved), shape = shape_, epsilon = op_.epsilon,
            workspace = at(bindings.scratch, workspace_), group_sums = bindings.group_sums, sync = op_.sync,
            stream = engine_.stream, make_y, batch = input_.shape[0]](const RunContext& context) {
      TRIREME_ASSERT(context.valid_samples >= batch, "batch statistics would see padding rows");
      if (tiles.own != nullptr) kernels::batch_norm_statistics(tiles.own, x, shape, stream);
      if (sync) return kernels::batch_norm_sync_sums(group_sums, tiles.statistics, shape, workspace, stream);
      kernels::batch_norm_finish_statistics(saved, {}, tiles.statistics, shape, epsilon, workspace, stream);
      make_y(context);
    };
  }

  Pass bind_forward_end(const Bindings& bindings) const override {
    if (!training_ || !op_.sync) return {};
    return [saved = saved_.of(bindings.saved), group_sums = bindings.group_sums, channels = shape_.channels,
            epsilon = op_.epsilon, stream = engine_.stream,
            make_y = apply(bindings, training_factors(bindings))](const RunContext& context) {
      kernels::batch_norm_sync_finish_statistics(saved, {}, group_sums, channels, epsilon, stream);
      make_y(context);
    };
  }

  /// All that backward reads, as long as the cut gradient has not been made.
  kernels::BatchNormGradientInputs<T> gradient_inputs(const Bindings& bindings) const {
    kernels::BatchNormGradientInputs<T> inputs;
    inputs.x = static_cast<const T*>(bindings.inputs.at(0));
    inputs.dy = static_cast<const T*>(bindings.output_grad);
    inputs.factors = training_factors(bindings);
    if (stores_signs()) {
      inputs.mask = kernels::ReluMask::stored;
      inputs.signs = at<std::uint8_t>(bindings.saved, signs_);
      // Where nobody wants the residual's gradient, it is made where dx will overwrite it.
      void* const wanted = bindings.input_grads.at(1);
      inputs.masked_dy = static_cast<T*>(wanted != nullptr ? wanted : bindings.input_grads.at(0));
      TRIREME_ASSERT(inputs.masked_dy != nullptr, "an input of the addition wants a gradient");
    } else if (op_.relu) {
      inputs.mask = kernels::ReluMask::recomputed;
    }
    return inputs;
  }

  /// dx, and the residual's gradient where no ReLU has made it already.
  Pass finish_backward(const Bindings& bindings) const {
    auto* const dx = static_cast<T*>(bindings.input_grads.at(0));
    void* const residual_grad = op_.residual ? bindings.input_grads.at(1) : nullptr;
    const void* const residual = op_.residual ? bindings.inputs.at(1) : nullptr;
    return [dx, residual_grad, residual, input = input_, residual_spec = residual_, dy = bindings.output_grad,
            copies = residual_grad != nullptr && !stores_signs() && residual_grad != bindings.output_grad,
            bytes = facts_.output.bytes, inputs = gradient_inputs(bindings),
            coefficients = at<float>(bindings.scratch, coefficients_), shape = shape_,
            engine = engine_](const RunContext&) {
      if (dx != nullptr) kernels::batch_norm_backward_apply(dx, inputs, coefficients, shape, engine.stream);
      if (dx != nullptr) mask_by_relu(engine, input, dx, inputs.x);
      if (copies)
        check_cuda(cudaMemcpyAsync(residual_grad, dy, bytes, cudaMemcpyDeviceToDevice, engine.stream),
                   "cudaMemcpyAsync");
      if (residual_grad != nullptr) mask_by_relu(engine, residual_spec, residual_grad, residual);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    const std::vector<float*>& grads = bindings.parameter_grads;
    kernels::BatchNormParameterGradients gradients{grads.at(kScale), grads.at(kShift), {}, false};
    gradients.running = {grads.at(kRunningMean), grads.at(kRunningVariance), step_values(bindings), false};
    const Pass finish = op_.sync ? Pass() : finish_backward(bindings);
    return [inputs = gradient_inputs(bindings), sums = at<float>(bindings.scratch, sums_),
            coefficients = at<float>(bindings.scratch, coefficients_), saved = saved_.of(bindings.saved),
            group_sums = bindings.group_sums, gradients, shape = shape_, sync = op_.sync,
            stream = engine_.stream, finish](const RunContext& context) {
      kernels::BatchNormParameterGradients now = gradients;
      now.accumulate = now.running.accumulate = context.accumulate;
      kernels::batch_norm_backward_reduce(sums, inputs, shape, stream);
      if (sync) {
        kernels::batch_norm_sync_backward_sums<T>(now, group_sums, sums, saved, shape, stream);
        return;
      }
      kernels::batch_norm_backward_finish<T>(now, coefficients, sums, saved, shape, stream);
      finish(context);
    };
  }

  Pass bind_backward_end(const Bindings& bindings) const override {
    if (!op_.sync) return {};
    return [coefficients = at<float>(bindings.scratch, coefficients_), group_sums = bindings.group_sums,
            saved = saved_.of(bindings.saved), shape = shape_, stream = engine_.stream,
            finish = finish_backward(bindings)](const RunContext& context) {
      kernels::batch_norm_sync_coefficients(coefficients, group_sums, saved, shape.channels, shape.pitch,
                                            stream);
      finish(context);
    };
  }

  BatchNormOp op_;
  ValueSpec input_, residual_;
  kernels::BatchNormShape shape_;
  kernels::StatisticsTiles tiles_;
  Saved saved_;
  std::size_t signs_ = 0, own_tiles_ = 0, workspace_ = 0, sums_ = 0, coefficients_ = 0;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const BatchNormOp& op) {
  return with_element(engine.precision, [&]<typename T>(T) -> std::unique_ptr<OpPlan> {
    return std::make_unique<BatchNormPlan<T>>(engine, request, op);
  });
}

}  // namespace trireme::cuda
