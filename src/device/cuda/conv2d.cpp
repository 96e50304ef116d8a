// SPDX-License-Identifier: Apache-2.0
// Convolution. The weights are packed from the fp32 masters in each forward pass, into memory that backward
// finds them in; what the kernels' epilogues can do (bias, ReLU, statistics for the batch norm behind, the
// sum with a gradient that is there already, the cut of a gradient by the input's ReLU) is done there.
#include <algorithm>
#include <array>

#include "src/device/cuda/conv2d_passes.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

kernels::Conv2dShape shape_of(const OpRequest& request, const Conv2dOp& op, std::int64_t out_pitch) {
  const ValueSpec& x = request.inputs.at(0);
  return {x.shape[0],  x.shape[1],  x.shape[2],  x.shape[3],  pitch_of(x), op.out_channels, out_pitch,
          op.kernel_h, op.kernel_w, op.stride_h, op.stride_w, op.pad_h,    op.pad_w};
}

template <typename T>
class Conv2dPlan final : public CudaOpPlan {
 public:
  Conv2dPlan(const CudaEngine& engine, const OpRequest& request, const Conv2dOp& op)
      : CudaOpPlan(engine, request),
        op_(op),
        after_relu_(layout_of(request.inputs.at(0)).after_relu),
        shape_(shape_of(request, op, pitch_of(op.out_channels, engine.element()))) {
    for (const ConvolutionPass pass : kConvolutionPasses)
      by_pass_[index_of(pass)] = passes_for(pass, request);
    ValueSpec output = cuda_value(request.output_shape, engine.element());
    if (op.relu) output = after_relu(std::move(output));
    makes_statistics_ = request.feeds_batch_norm && passes(ConvolutionPass::forward).get() == native_.get();
    if (makes_statistics_)
      output = with_statistics(std::move(output), kernels::conv2d_statistics_tiles<T>(shape_));
    facts_.output = std::move(output);
    facts_.saved_bytes = static_cast<std::size_t>(kernels::conv2d_packed_weights_size<T>(shape_)) * sizeof(T);
    facts_.forward_scratch_bytes =
        passes(ConvolutionPass::forward)->workspace_bytes(ConvolutionPass::forward);
    facts_.backward_scratch_bytes =
        std::max(workspace(ConvolutionPass::backward_data), workspace(ConvolutionPass::backward_weights));
    facts_.backward_needs_inputs = true;
    facts_.adds_to_input_grad = true;
  }

 private:
  using Passes = std::shared_ptr<const ConvolutionPasses<T>>;

  static std::size_t index_of(ConvolutionPass pass) { return static_cast<std::size_t>(pass); }
  const Passes& passes(ConvolutionPass pass) const { return by_pass_[index_of(pass)]; }
  std::size_t workspace(ConvolutionPass pass) const {
    return training_ ? passes(pass)->workspace_bytes(pass) : 0;
  }

  Passes passes_for(ConvolutionPass pass, const OpRequest& request) {
    const ConvolutionUse use{request.feeds_batch_norm, op_.bias, op_.relu, after_relu_};
    const bool wanted = training_ || pass == ConvolutionPass::forward;
    const bool by_cudnn =
        wanted && engine_.engines != nullptr && engine_.engines->choose(shape_, use, pass) == Engine::cudnn;
    Passes& made = by_cudnn ? cudnn_ : native_;
    if (made == nullptr && by_cudnn) made = make_cudnn_passes<T>(shape_, *engine_.engines);
    if (made == nullptr) made = make_native_passes<T>(shape_, engine_.multiprocessors, engine_.stream);
    return made;
  }

  Pass bind_forward(const Bindings& bindings) const override {
    auto* const weights = static_cast<T*>(bindings.saved);
    kernels::Conv2dForward<T> pass{static_cast<T*>(bindings.output),
                                   static_cast<const T*>(bindings.inputs.at(0)), weights};
    if (op_.bias) pass.bias = bindings.parameters.at(1);
    pass.relu = op_.relu;
    if (makes_statistics_)
      pass.statistics = const_cast<float*>(statistics_beside(facts_.output, bindings.output).values);
    return [pass, weights, master = bindings.parameters.at(0), shape = shape_, stream = engine_.stream,
            passes = passes(ConvolutionPass::forward), workspace = bindings.scratch](const RunContext&) {
      kernels::conv2d_pack_weights(weights, master, shape, stream);
      passes->forward(pass, workspace);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    const auto* const x = static_cast<const T*>(bindings.inputs.at(0));
    const auto* const dy = static_cast<const T*>(bindings.output_grad);
    kernels::Conv2dBackwardWeights<T> weights{bindings.parameter_grads.at(0), nullptr, x, dy,
                                              bindings.scratch};
    if (op_.bias) weights.dbias = bindings.parameter_grads.at(1);
    kernels::Conv2dBackwardData<T> data{
        static_cast<T*>(bindings.input_grads.at(0)), dy, static_cast<const T*>(bindings.saved),
        static_cast<const T*>(bindings.input_grad_addend), after_relu_ ? x : nullptr};
    return [weights, data, by_weights = passes(ConvolutionPass::backward_weights),
            by_data = passes(ConvolutionPass::backward_data),
            workspace = bindings.scratch](const RunContext& context) {
      kernels::Conv2dBackwardWeights<T> now = weights;
      now.accumulate = context.accumulate;
      by_weights->backward_weights(now);
      if (data.dx != nullptr) by_data->backward_data(data, workspace);
    };
  }

  Conv2dOp op_;
  bool after_relu_;
  kernels::Conv2dShape shape_;
  Passes native_, cudnn_;
  std::array<Passes, kConvolutionPasses.size()> by_pass_;
  bool makes_statistics_ = false;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const Conv2dOp& op) {
  return with_product(engine.precision, [&]<typename T>(T) -> std::unique_ptr<OpPlan> {
    return std::make_unique<Conv2dPlan<T>>(engine, request, op);
  });
}

}  // namespace trireme::cuda
