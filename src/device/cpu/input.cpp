// SPDX-License-Identifier: Apache-2.0
// The images of the batch: from the dense NHWC of the input slot to NCHW, which oneDNN's first convolutions
// read.
#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {
namespace {

class InputPlan final : public CpuOpPlan {
 public:
  InputPlan(const CpuEngine& engine, const OpRequest& request) : CpuOpPlan(engine, request) {
    facts_.output = value_of(request.output_shape, nchw_desc(request.output_shape));
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    // The slot alternates between steps, so its memory gets its address in the run.
    dnnl::memory images = engine_.memory(dense_desc(facts_.output.shape), bindings.output);
    Steps steps(engine_);
    steps.reorder(images, engine_.memory(desc_of(facts_.output), bindings.output));
    return [images, steps](const RunContext& context) {
      images.set_data_handle(const_cast<void*>(context.images));
      steps.run();
    };
  }

  Pass bind_backward(const Bindings&) const override {
    return [](const RunContext&) {};
  }
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const InputOp&) {
  return std::make_unique<InputPlan>(engine, request);
}

}  // namespace trireme::cpu
