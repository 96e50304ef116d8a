// SPDX-License-Identifier: Apache-2.0
// The sum takes the first input's layout; a second input that lies otherwise is reordered first.
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

class AddPlan final : public CpuOpPlan {
 public:
  AddPlan(const CpuEngine& engine, const OpRequest& request, const AddOp& op)
      : CpuOpPlan(engine, request),
        desc_(desc_of(request.inputs.at(0))),
        second_desc_(desc_of(request.inputs.at(1))),
        relu_(op.relu) {
    TRIREME_ASSERT(request.inputs[0].shape == request.inputs[1].shape, "summands have equal shapes");
    const bool alike = desc_ == second_desc_;
    facts_.output = request.inputs[0];
    facts_.forward_scratch_bytes = alike ? 0 : desc_.get_size();
    facts_.backward_scratch_bytes = alike || !relu_ ? 0 : desc_.get_size();
    facts_.backward_needs_output = relu_;
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.grads_are_aliases = alike && !relu_;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    Steps steps(engine_);
    const dnnl::memory second =
        steps.arranged(engine_.memory(second_desc_, bindings.inputs.at(1)), desc_, bindings.scratch);
    auto* z = static_cast<float*>(bindings.output);
    const auto* b = static_cast<const float*>(second.get_data_handle());
    return [=, a = static_cast<const float*>(bindings.inputs[0]), count = physical_count(desc_),
            sum = relu_ ? add_relu : add](const RunContext&) {
      steps.run();
      sum(z, a, b, count);
    };
  }

  /// Both gradients are dy, with ReLU dy where the output is positive. The second is made from the first's
  /// source before the first is written, since that may overwrite dy.
  Pass bind_backward(const Bindings& bindings) const override {
    auto* da = static_cast<float*>(bindings.input_grads.at(0));
    auto* db = static_cast<float*>(bindings.input_grads.at(1));
    const auto* dy = static_cast<const float*>(bindings.output_grad);
    const auto* y = static_cast<const float*>(bindings.output);
    const std::int64_t count = physical_count(desc_);
    const bool alike = desc_ == second_desc_;
    // Where the second gradient is made in the layout of the first.
    auto* second = alike ? db : static_cast<float*>(bindings.scratch);
    Steps steps(engine_);
    if (db != nullptr && !alike)
      steps.reorder(engine_.memory(desc_, relu_ ? second : dy), engine_.memory(second_desc_, db));
    return [=, relu = relu_](const RunContext&) {
      if (db != nullptr && relu) relu_gradient(second, dy, y, count);
      if (db != nullptr && !relu && alike) copy(db, dy, count);
      steps.run();
      if (da != nullptr && relu) relu_gradient(da, dy, y, count);
      if (da != nullptr && !relu) copy(da, dy, count);
    };
  }

  dnnl::memory::desc desc_, second_desc_;
  bool relu_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const AddOp& op) {
  return std::make_unique<AddPlan>(engine, request, op);
}

}  // namespace trireme::cpu
