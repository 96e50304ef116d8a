// SPDX-License-Identifier: Apache-2.0
// Both gradients of a sum are its own, cut where its ReLU was not positive; where a ReLU made a summand, that
// summand's is cut by it besides.
#include "kernels/elementwise/elementwise.h"
#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

class AddPlan final : public CudaOpPlan {
 public:
  AddPlan(const CudaEngine& engine, const OpRequest& request, const AddOp& op)
      : CudaOpPlan(engine, request), a_(request.inputs.at(0)), b_(request.inputs.at(1)), relu_(op.relu) {
    TRIREME_ASSERT(a_.shape == b_.shape && pitch_of(a_) == pitch_of(b_), "summands have equal shapes");
    const bool cuts = layout_of(a_).after_relu || layout_of(b_).after_relu;
    facts_.output = cuda_value(a_.shape, engine.element(), pitch_of(a_));
    facts_.backward_needs_inputs = cuts;
    facts_.backward_needs_output = relu_;
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.grads_are_aliases = !relu_ && !cuts;
    facts_.input_grads_differ = cuts;  // each is cut by its own input
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [z = static_cast<T*>(bindings.output), a = static_cast<const T*>(bindings.inputs.at(0)),
              b = static_cast<const T*>(bindings.inputs.at(1)), relu = relu_,
              count = padded_count(facts_.output), stream = engine_.stream](const RunContext&) {
        kernels::add_forward(z, a, b, relu, count, stream);
      };
    });
  }

  /// The second input's gradient is made first, for the first's may overwrite what both are made from.
  Pass bind_backward(const Bindings& bindings) const override {
    return
        [second = gradient(bindings, 1, b_), first = gradient(bindings, 0, a_)](const RunContext& context) {
          second(context);
          first(context);
        };
  }

  Pass gradient(const Bindings& bindings, std::size_t input, const ValueSpec& spec) const {
    void* const dx = bindings.input_grads.at(input);
    if (dx == nullptr) return [](const RunContext&) {};
    const Pass make = relu_ ? cut(bindings, dx)
                            : copy_pass(engine_, dx, bindings.output_grad, facts_.output.element_bytes());
    return [make, engine = engine_, spec, dx, x = bindings.inputs.at(input)](const RunContext& context) {
      make(context);
      mask_by_relu(engine, spec, dx, x);
    };
  }

  Pass cut(const Bindings& bindings, void* dx) const {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return
          [dx = static_cast<T*>(dx), dz = static_cast<const T*>(bindings.output_grad),
           z = static_cast<const T*>(bindings.output), count = padded_count(facts_.output),
           stream = engine_.stream](const RunContext&) { kernels::relu_backward(dx, dz, z, count, stream); };
    });
  }

  ValueSpec a_, b_;
  bool relu_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const AddOp& op) {
  return std::make_unique<AddPlan>(engine, request, op);
}

}  // namespace trireme::cuda
