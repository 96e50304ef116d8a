// SPDX-License-Identifier: Apache-2.0
// The output says in its layout that a ReLU made it, so its gradient comes cut already and backward has
// nothing to compute.
#include "kernels/elementwise/elementwise.h"
#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

class ReluPlan final : public CudaOpPlan {
 public:
  ReluPlan(const CudaEngine& engine, const OpRequest& request) : CudaOpPlan(engine, request) {
    const ValueSpec& x = request.inputs.at(0);
    facts_.output = after_relu(cuda_value(x.shape, engine.element(), pitch_of(x)));
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [y = static_cast<T*>(bindings.output), x = static_cast<const T*>(bindings.inputs.at(0)),
              count = padded_count(facts_.output),
              stream = engine_.stream](const RunContext&) { kernels::relu_forward(y, x, count, stream); };
    });
  }

  Pass bind_backward(const Bindings& bindings) const override {
    return copy_pass(engine_, bindings.input_grads.at(0), bindings.output_grad,
                     facts_.output.element_bytes());
  }
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const ReluOp&) {
  return std::make_unique<ReluPlan>(engine, request);
}

}  // namespace trireme::cuda
