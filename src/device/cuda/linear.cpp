// SPDX-License-Identifier: Apache-2.0
// Linear layers; the weights are packed as a convolution's.
#include "kernels/linear/linear.h"

#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

template <typename T>
class LinearPlan final : public CudaOpPlan {
 public:
  LinearPlan(const CudaEngine& engine, const OpRequest& request, const LinearOp& op)
      : CudaOpPlan(engine, request),
        op_(op),
        after_relu_(layout_of(request.inputs.at(0)).after_relu),
        shape_{request.inputs[0].shape[0], request.inputs[0].shape[1], pitch_of(request.inputs[0]),
               op.out_features, pitch_of(op.out_features, engine.element())} {
    facts_.output = cuda_value(request.output_shape, engine.element());
    if (op.relu) facts_.output = after_relu(std::move(facts_.output));
    facts_.saved_bytes = static_cast<std::size_t>(kernels::linear_packed_weights_size<T>(shape_)) * sizeof(T);
    if (training_)
      facts_.backward_scratch_bytes =
          kernels::linear_backward_weights_workspace_bytes<T>(shape_, engine.multiprocessors);
    facts_.backward_needs_inputs = true;
    facts_.adds_to_input_grad = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    auto* const weights = static_cast<T*>(bindings.saved);
    kernels::LinearForward<T> pass{static_cast<T*>(bindings.output),
                                   static_cast<const T*>(bindings.inputs.at(0)), weights};
    if (op_.bias) pass.bias = bindings.parameters.at(1);
    pass.relu = op_.relu;
    return [pass, weights, master = bindings.parameters.at(0), shape = shape_,
            stream = engine_.stream](const RunContext&) {
      kernels::linear_pack_weights(weights, master, shape, stream);
      kernels::linear_forward(pass, shape, stream);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    const auto* const x = static_cast<const T*>(bindings.inputs.at(0));
    const auto* const dy = static_cast<const T*>(bindings.output_grad);
    kernels::LinearBackwardWeights<T> weights{bindings.parameter_grads.at(0), nullptr, x, dy,
                                              bindings.scratch};
    if (op_.bias) weights.dbias = bindings.parameter_grads.at(1);
    const kernels::LinearBackwardData<T> data{
        static_cast<T*>(bindings.input_grads.at(0)), dy, static_cast<const T*>(bindings.saved),
        static_cast<const T*>(bindings.input_grad_addend), after_relu_ ? x : nullptr};
    return [weights, data, shape = shape_, engine = engine_](const RunContext& context) {
      kernels::LinearBackwardWeights<T> now = weights;
      now.accumulate = context.accumulate;
      kernels::linear_backward_weights(now, shape, engine.multiprocessors, engine.stream);
      if (data.dx != nullptr) kernels::linear_backward_data(data, shape, engine.stream);
    };
  }

  LinearOp op_;
  bool after_relu_;
  kernels::LinearShape shape_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const LinearOp& op) {
  return with_product(engine.precision, [&]<typename T>(T) -> std::unique_ptr<OpPlan> {
    return std::make_unique<LinearPlan<T>>(engine, request, op);
  });
}

}  // namespace trireme::cuda
