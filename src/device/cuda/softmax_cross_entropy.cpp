// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy. One pass makes losses, record and gradient, so a training program's forward makes
// the gradient, too, and backward only brings it to where it is wanted.
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"

#include "src/device/cuda/copy_pass.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

static_assert(sizeof(StepRecord) == sizeof(kernels::LossRecord) &&
                  offsetof(StepRecord, loss_sum) == offsetof(kernels::LossRecord, loss_sum) &&
                  offsetof(StepRecord, loss_fixed) == offsetof(kernels::LossRecord, loss_fixed) &&
                  offsetof(StepRecord, samples) == offsetof(kernels::LossRecord, samples) &&
                  offsetof(StepRecord, top1) == offsetof(kernels::LossRecord, top1) &&
                  offsetof(StepRecord, top5) == offsetof(kernels::LossRecord, top5),
              "the kernels add to the program's record");

class SoftmaxCrossEntropyPlan final : public CudaOpPlan {
 public:
  SoftmaxCrossEntropyPlan(const CudaEngine& engine, const OpRequest& request, const SoftmaxCrossEntropyOp& op)
      : CudaOpPlan(engine, request),
        logits_(request.inputs.at(0)),
        shape_{logits_.shape[0], static_cast<int>(channels_of(logits_)), static_cast<int>(pitch_of(logits_))},
        smoothing_(training_ ? static_cast<float>(op.label_smoothing) : 0.0F) {
    const Shape& losses = request.output_shape;
    facts_.output = {losses, DType::f32, nullptr, static_cast<std::size_t>(losses.count()) * sizeof(float)};
    facts_.forward_scratch_bytes = kernels::softmax_cross_entropy_workspace_bytes(shape_.batch);
    if (training_) facts_.saved_bytes = logits_.element_bytes();
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    TRIREME_ASSERT(bindings.record != nullptr, "the loss adds to a record");
    return with_element(engine_.precision, [&]<typename T>(T) -> Pass {
      kernels::SoftmaxCrossEntropyBuffers<T> buffers;
      buffers.logits = static_cast<const T*>(bindings.inputs.at(0));
      buffers.step = step_values(bindings);
      buffers.losses = static_cast<float*>(bindings.output);
      buffers.gradient = training_ ? static_cast<T*>(bindings.saved) : nullptr;
      buffers.record = reinterpret_cast<kernels::LossRecord*>(bindings.record);
      buffers.workspace = bindings.scratch;
      return [buffers, shape = shape_, smoothing = smoothing_, logits = logits_,
              engine = engine_](const RunContext& context) {
        auto with_labels = buffers;
        with_labels.labels = context.labels;
        kernels::softmax_cross_entropy(shape, smoothing, with_labels, engine.stream);
        if (buffers.gradient != nullptr) mask_by_relu(engine, logits, buffers.gradient, buffers.logits);
      };
    });
  }

  Pass bind_backward(const Bindings& bindings) const override {
    return copy_pass(engine_, bindings.input_grads.at(0), bindings.saved, logits_.element_bytes());
  }

  ValueSpec logits_;
  kernels::SoftmaxCrossEntropyShape shape_;
  float smoothing_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request,
                                  const SoftmaxCrossEntropyOp& op) {
  return std::make_unique<SoftmaxCrossEntropyPlan>(engine, request, op);
}

}  // namespace trireme::cuda
