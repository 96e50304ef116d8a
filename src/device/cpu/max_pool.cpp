// SPDX-License-Identifier: Apache-2.0
// Max pooling; the places of the maxima are kept in the primitive's workspace. Of equal values the first in
// row order counts.
#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

class MaxPoolPlan final : public CpuOpPlan {
 public:
  MaxPoolPlan(const CpuEngine& engine, const OpRequest& request, const MaxPoolOp& op)
      : CpuOpPlan(engine, request), src_(desc_of(request.inputs.at(0))) {
    const memory::dims strides{op.stride_h, op.stride_w}, kernel{op.kernel_h, op.kernel_w},
        pad{op.pad_h, op.pad_w};
    const auto algorithm = dnnl::algorithm::pooling_max;
    const auto kind = training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    forward_ = {{kind, algorithm, src_, any_desc(request.output_shape), strides, kernel, pad, pad},
                user_scratchpad(),
                engine.engine};
    dst_ = forward_.dst_desc();
    facts_.output = value_of(request.output_shape, dst_);
    facts_.forward_scratch_bytes = forward_.scratchpad_desc().get_size();
    if (!training_) return;
    backward_ = {
        {algorithm, src_, dst_, strides, kernel, pad, pad}, user_scratchpad(), engine.engine, forward_};
    facts_.saved_bytes = forward_.workspace_desc().get_size();
    facts_.backward_scratch_bytes = backward_.scratchpad_desc().get_size();
  }

 private:
  memory workspace(void* saved) const {
    return training_ ? engine_.memory(forward_.workspace_desc(), saved) : memory();
  }

  Pass bind_forward(const Bindings& bindings) const override {
    Steps steps(engine_);
    steps.add(
        Forward(forward_),
        {{DNNL_ARG_SRC, engine_.memory(src_, bindings.inputs.at(0))},
         {DNNL_ARG_DST, engine_.memory(dst_, bindings.output)},
         {DNNL_ARG_WORKSPACE, workspace(bindings.saved)},
         {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, forward_.scratchpad_desc(), bindings.scratch)}});
    return [steps](const RunContext&) { steps.run(); };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    Steps steps(engine_);
    if (void* dx = bindings.input_grads.at(0))
      steps.add(
          Backward(backward_),
          {{DNNL_ARG_DIFF_DST, engine_.memory(dst_, bindings.output_grad)},
           {DNNL_ARG_WORKSPACE, workspace(bindings.saved)},
           {DNNL_ARG_DIFF_SRC, engine_.memory(src_, dx)},
           {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, backward_.scratchpad_desc(), bindings.scratch)}});
    return [steps](const RunContext&) { steps.run(); };
  }

  memory::desc src_, dst_;
  Forward::primitive_desc forward_;
  Backward::primitive_desc backward_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const MaxPoolOp& op) {
  return std::make_unique<MaxPoolPlan>(engine, request, op);
}

}  // namespace trireme::cpu
