// SPDX-License-Identifier: Apache-2.0
// [N,H,W,C] to [N,C*H*W]: dense NCHW is that matrix.
#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {
namespace {

class FlattenPlan final : public CpuOpPlan {
 public:
  FlattenPlan(const CpuEngine& engine, const OpRequest& request)
      : CpuOpPlan(engine, request),
        input_desc_(desc_of(request.inputs.at(0))),
        matrix_desc_(nchw_desc(request.inputs[0].shape)) {
    facts_.output = dense_value(request.output_shape);
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    Steps steps(engine_);
    steps.reorder(engine_.memory(input_desc_, bindings.inputs.at(0)),
                  engine_.memory(matrix_desc_, bindings.output));
    return [steps](const RunContext&) { steps.run(); };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    Steps steps(engine_);
    if (void* dx = bindings.input_grads.at(0))
      steps.reorder(engine_.memory(matrix_desc_, bindings.output_grad), engine_.memory(input_desc_, dx));
    return [steps](const RunContext&) { steps.run(); };
  }

  dnnl::memory::desc input_desc_, matrix_desc_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const FlattenOp&) {
  return std::make_unique<FlattenPlan>(engine, request);
}

}  // namespace trireme::cpu
