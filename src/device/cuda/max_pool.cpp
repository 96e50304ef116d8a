// SPDX-License-Identifier: Apache-2.0
// Max pooling; the places of the maxima are kept, a byte each. Over what a ReLU made, a window without a
// positive element keeps none: then the gradient is cut for that ReLU, and the output, though never negative,
// needs no cut of its own.
#include "kernels/pool2d/pool2d.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

kernels::Pool2dShape shape_of(const ValueSpec& x, const MaxPoolOp& op) {
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  return {number(x.shape[0]),  number(x.shape[1]),  number(x.shape[2]),  number(pitch_of(x)),
          number(op.kernel_h), number(op.kernel_w), number(op.stride_h), number(op.stride_w),
          number(op.pad_h),    number(op.pad_w)};
}

class MaxPoolPlan final : public CudaOpPlan {
 public:
  MaxPoolPlan(const CudaEngine& engine, const OpRequest& request, const MaxPoolOp& op)
      : CudaOpPlan(engine, request),
        shape_(shape_of(request.inputs.at(0), op)),
        cuts_(training_ && layout_of(request.inputs[0]).after_relu) {
    facts_.output = cuda_value(request.output_shape, engine.element(), shape_.pitch);
    if (training_) facts_.saved_bytes = static_cast<std::size_t>(padded_count(facts_.output));
  }

 private:
  std::uint8_t* places(const Bindings& bindings) const {
    return training_ ? static_cast<std::uint8_t*>(bindings.saved) : nullptr;
  }

  Pass bind_forward(const Bindings& bindings) const override {
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [y = static_cast<T*>(bindings.output), places = places(bindings),
              x = static_cast<const T*>(bindings.inputs.at(0)), shape = shape_, cuts = cuts_,
              stream = engine_.stream](const RunContext&) {
        kernels::max_pool2d_forward(y, places, x, shape, stream, cuts);
      };
    });
  }

  Pass bind_backward(const Bindings& bindings) const override {
    if (bindings.input_grads.at(0) == nullptr) return [](const RunContext&) {};
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      return [dx = static_cast<T*>(bindings.input_grads[0]), dy = static_cast<const T*>(bindings.output_grad),
              places = places(bindings), shape = shape_, stream = engine_.stream](const RunContext&) {
        kernels::max_pool2d_backward(dx, dy, places, shape, stream);
      };
    });
  }

  kernels::Pool2dShape shape_;
  bool cuts_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const MaxPoolOp& op) {
  return std::make_unique<MaxPoolPlan>(engine, request, op);
}

}  // namespace trireme::cuda
