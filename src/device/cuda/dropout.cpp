// SPDX-License-Identifier: Apache-2.0
// The mask is drawn anew in backward, and so never stored. What is kept of a ReLU's output is positive just
// where that is: the output passes the mark on, and its gradient comes cut.
#include "kernels/dropout/dropout.h"

#include "src/core/philox.h"
#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

kernels::DropoutShape shape_of(const ValueSpec& x) {
  return {static_cast<int>(x.shape[0]), static_cast<int>(rows_of(x) / x.shape[0]),
          static_cast<int>(channels_of(x)), static_cast<int>(pitch_of(x))};
}

class DropoutPlan final : public CudaOpPlan {
 public:
  DropoutPlan(const CudaEngine& engine, const OpRequest& request, const DropoutOp& op)
      : CudaOpPlan(engine, request), op_(op), shape_(shape_of(request.inputs.at(0))) {
    const ValueSpec& x = request.inputs[0];
    facts_.output = cuda_value(x.shape, engine.element(), pitch_of(x));
    if (layout_of(x).after_relu) facts_.output = after_relu(facts_.output);
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    if (!training_)
      return copy_pass(engine_, bindings.output, bindings.inputs.at(0), facts_.output.element_bytes());
    return dropped(bindings.output, bindings.inputs.at(0), step_values(bindings));
  }

  Pass bind_backward(const Bindings& bindings) const override {
    if (bindings.input_grads.at(0) == nullptr) return [](const RunContext&) {};
    return dropped(bindings.input_grads[0], bindings.output_grad, step_values(bindings));
  }

  Pass dropped(void* to, const void* from, const kernels::StepValues* step) const {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      const auto random = static_cast<std::uint16_t>(static_cast<int>(RandomStream::dropout) + op_.ordinal);
      return [to = static_cast<T*>(to), from = static_cast<const T*>(from), step, random, shape = shape_,
              probability = op_.probability, stream = engine_.stream](const RunContext& context) {
        kernels::dropout(to, from, {probability, random, step, context.sample_ids}, shape, stream);
      };
    });
  }

  DropoutOp op_;
  kernels::DropoutShape shape_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const DropoutOp& op) {
  TRIREME_ASSERT(op.probability >= 0 && op.probability < 1, "a dropout probability is in [0, 1)");
  return std::make_unique<DropoutPlan>(engine, request, op);
}

}  // namespace trireme::cuda
