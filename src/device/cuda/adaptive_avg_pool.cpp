// SPDX-License-Identifier: Apache-2.0
// Adaptive average pooling; to the size that is there already it is the identity.
#include "kernels/pool2d/pool2d.h"
#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

class IdentityPlan final : public CudaOpPlan {
 public:
  IdentityPlan(const CudaEngine& engine, const OpRequest& request) : CudaOpPlan(engine, request) {
    const ValueSpec& x = request.inputs.at(0);
    facts_.output = cuda_value(x.shape, engine.element(), pitch_of(x));
    if (layout_of(x).after_relu) facts_.output = after_relu(facts_.output);
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.grads_are_aliases = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    return copy_pass(engine_, bindings.output, bindings.inputs.at(0), facts_.output.element_bytes());
  }
  Pass bind_backward(const Bindings& bindings) const override {
    return copy_pass(engine_, bindings.input_grads.at(0), bindings.output_grad,
                     facts_.output.element_bytes());
  }
};

kernels::AdaptivePool2dShape shape_of(const ValueSpec& x, const Shape& y) {
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  return {number(x.shape[0]), number(x.shape[1]), number(x.shape[2]),
          number(y[1]),       number(y[2]),       number(pitch_of(x))};
}

class AdaptiveAvgPoolPlan final : public CudaOpPlan {
 public:
  AdaptiveAvgPoolPlan(const CudaEngine& engine, const OpRequest& request)
      : CudaOpPlan(engine, request),
        input_(request.inputs.at(0)),
        shape_(shape_of(input_, request.output_shape)) {
    facts_.output = cuda_value(request.output_shape, engine.element(), shape_.pitch);
    facts_.backward_needs_inputs = layout_of(input_).after_relu;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [y = static_cast<T*>(bindings.output), x = static_cast<const T*>(bindings.inputs.at(0)),
              shape = shape_, stream = engine_.stream](const RunContext&) {
        kernels::adaptive_avg_pool2d_forward(y, x, shape, stream);
      };
    });
  }

  Pass bind_backward(const Bindings& bindings) const override {
    if (bindings.input_grads.at(0) == nullptr) return [](const RunContext&) {};
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return
          [dx = static_cast<T*>(bindings.input_grads[0]), dy = static_cast<const T*>(bindings.output_grad),
           x = bindings.inputs.at(0), shape = shape_, input = input_, engine = engine_](const RunContext&) {
            kernels::adaptive_avg_pool2d_backward(dx, dy, shape, engine.stream);
            mask_by_relu(engine, input, dx, x);
          };
    });
  }

  ValueSpec input_;
  kernels::AdaptivePool2dShape shape_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request,
                                  const AdaptiveAvgPoolOp&) {
  if (request.inputs.at(0).shape == request.output_shape)
    return std::make_unique<IdentityPlan>(engine, request);
  return std::make_unique<AdaptiveAvgPoolPlan>(engine, request);
}

}  // namespace trireme::cuda
