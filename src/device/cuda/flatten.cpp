// SPDX-License-Identifier: Apache-2.0
// Pictures to features in the order C,H,W: a transposition of each picture, or nothing where it is one pixel.
// Elements change places only, so a ReLU's mark is passed on.
#include "kernels/elementwise/elementwise.h"
#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

class FlattenPlan final : public CudaOpPlan {
 public:
  FlattenPlan(const CudaEngine& engine, const OpRequest& request) : CudaOpPlan(engine, request) {
    const ValueSpec& x = request.inputs.at(0);
    facts_.output = cuda_value(request.output_shape, engine.element());
    if (layout_of(x).after_relu) facts_.output = after_relu(facts_.output);
    shape_ = {static_cast<int>(x.shape[0]), static_cast<int>(rows_of(x) / x.shape[0]),
              static_cast<int>(channels_of(x)), static_cast<int>(pitch_of(x)),
              static_cast<int>(pitch_of(facts_.output))};
    keeps_places_ = shape_.pixels == 1 && shape_.pitch == shape_.feature_pitch;
    facts_.output_may_overwrite_input = keeps_places_;
    facts_.input_grad_may_overwrite_output_grad = keeps_places_;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    const void* const x = bindings.inputs.at(0);
    if (keeps_places_) return copy_pass(engine_, bindings.output, x, facts_.output.element_bytes());
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [y = static_cast<T*>(bindings.output), x = static_cast<const T*>(x), shape = shape_,
              stream = engine_.stream](const RunContext&) { kernels::flatten_forward(y, x, shape, stream); };
    });
  }

  Pass bind_backward(const Bindings& bindings) const override {
    void* const dx = bindings.input_grads.at(0);
    if (dx == nullptr || keeps_places_)
      return copy_pass(engine_, dx, bindings.output_grad, facts_.output.element_bytes());
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return
          [dx = static_cast<T*>(dx), dy = static_cast<const T*>(bindings.output_grad), shape = shape_,
           stream = engine_.stream](const RunContext&) { kernels::flatten_backward(dx, dy, shape, stream); };
    });
  }

  kernels::FlattenShape shape_{};
  bool keeps_places_ = false;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const FlattenOp&) {
  return std::make_unique<FlattenPlan>(engine, request);
}

}  // namespace trireme::cuda
