// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

/// Works in place in both directions; backward looks at the output alone.
class ReluPlan final : public CpuOpPlan {
 public:
  ReluPlan(const CpuEngine& engine, const OpRequest& request)
      : CpuOpPlan(engine, request), count_(physical_count(desc_of(request.inputs.at(0)))) {
    facts_.output = request.inputs[0];
    facts_.backward_needs_output = true;
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    auto* y = static_cast<float*>(bindings.output);
    return [y, x = static_cast<const float*>(bindings.inputs.at(0)), count = count_](const RunContext&) {
      relu(y, x, count);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    auto* dx = static_cast<float*>(bindings.input_grads.at(0));
    if (dx == nullptr) return [](const RunContext&) {};
    return [dx, dy = static_cast<const float*>(bindings.output_grad),
            y = static_cast<const float*>(bindings.output),
            count = count_](const RunContext&) { relu_gradient(dx, dy, y, count); };
  }

  std::int64_t count_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const ReluOp&) {
  return std::make_unique<ReluPlan>(engine, request);
}

}  // namespace trireme::cpu
