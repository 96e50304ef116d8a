// SPDX-License-Identifier: Apache-2.0
// Batch normalisation. Training normalises by the batch's own mean and (biased) variance, keeps both for
// backward, and hands the running statistics their share as "gradients": share_weight times the batch mean
// and the unbiased batch variance. Inference normalises by the running statistics. Training over the batches
// of all ranks is in sync_batch_norm.cpp.
#include <cmath>

#include "src/device/cpu/batch_norm.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

/// What the gradients of scale and shift are made of, where oneDNN is not asked: it always writes the input's
/// gradient too, and a net that starts with a batch norm has no place for that one.
struct ParameterGradients {
  Shape shape;
  PhysicalIndex index;
  double epsilon;
  bool relu;
  const float *x, *dy, *scale, *shift, *mean, *variance;
  float *diff_scale, *diff_shift;

  void compute() const {
#pragma omp parallel for
    for (std::int64_t c = 0; c < shape[3]; ++c) compute_channel(c);
  }

  /// With xhat = (x - mean) / sqrt(variance + epsilon): diff_scale = sum dy xhat, diff_shift = sum dy, where
  /// a fused ReLU lets dy through only where scale xhat + shift > 0.
  void compute_channel(std::int64_t c) const {
    const double inverse = 1.0 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    double scale_sum = 0, shift_sum = 0;
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (std::int64_t w = 0; w < shape[2]; ++w) {
          const std::int64_t i = index(n, c, h, w);
          const double normal = (static_cast<double>(x[i]) - static_cast<double>(mean[c])) * inverse;
          const double y = static_cast<double>(scale[c]) * normal + static_cast<double>(shift[c]);
          if (relu && y <= 0) continue;
          scale_sum += static_cast<double>(dy[i]) * normal;
          shift_sum += static_cast<double>(dy[i]);
        }
    diff_scale[c] = static_cast<float>(scale_sum);
    diff_shift[c] = static_cast<float>(shift_sum);
  }
};

class BatchNormPlan final : public CpuOpPlan {
 public:
  BatchNormPlan(const CpuEngine& engine, const OpRequest& request, const BatchNormOp& op)
      : CpuOpPlan(engine, request),
        op_(op),
        desc_(desc_of(request.inputs.at(0))),
        channels_(desc_.dims()[1]),
        batch_(request.output_shape[0]),
        values_(request.output_shape.count() / channels_) {
    if (training_ && values_ < 2)
      throw make_error(Status::configuration, "batch norm over one value per channel has no variance")
          .at(describe(request))
          .hint("give every rank at least two samples of a step");
    const auto epsilon = static_cast<float>(op.epsilon);
    auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
    if (op.relu) flags |= normalization_flags::fuse_norm_relu;
    facts_.output = request.inputs[0];
    if (training_)
      plan_training(epsilon, flags);
    else
      plan_inference(epsilon, flags | normalization_flags::use_global_stats);
  }

 private:
  void plan_inference(float epsilon, normalization_flags flags) {
    forward_ = {
        {dnnl::prop_kind::forward_inference, desc_, epsilon, flags}, user_scratchpad(), engine_.engine};
    facts_.forward_scratch_bytes = forward_.scratchpad_desc().get_size();
    facts_.output_may_overwrite_input = true;
  }

  void plan_training(float epsilon, normalization_flags flags) {
    forward_ = {
        {dnnl::prop_kind::forward_training, desc_, epsilon, flags}, user_scratchpad(), engine_.engine};
    backward_ = {{dnnl::prop_kind::backward, desc_, desc_, epsilon, flags},
                 user_scratchpad(),
                 engine_.engine,
                 forward_};
    Ranges saved, scratch;
    at_mean_ = saved.add(channel_bytes());
    at_variance_ = saved.add(channel_bytes());
    at_workspace_ = saved.add(forward_.workspace_desc().get_size());
    at_diff_scale_ = scratch.add(channel_bytes());
    at_diff_shift_ = scratch.add(channel_bytes());
    at_scratchpad_ = scratch.add(backward_.scratchpad_desc().get_size());
    facts_.saved_bytes = saved.end();
    facts_.forward_scratch_bytes = forward_.scratchpad_desc().get_size();
    facts_.backward_scratch_bytes = scratch.end();
    facts_.backward_needs_inputs = true;
    facts_.input_grad_may_overwrite_output_grad = true;
  }

  std::size_t channel_bytes() const { return static_cast<std::size_t>(channels_) * sizeof(float); }
  memory channel_memory(const void* data) const {
    return engine_.memory({{channels_}, memory::data_type::f32, memory::format_tag::x}, data);
  }
  memory workspace(void* saved) const {
    return scratchpad_memory(engine_, forward_.workspace_desc(), at(saved, at_workspace_));
  }

  Pass bind_forward(const Bindings& bindings) const override {
    const memory mean =
        channel_memory(training_ ? at(bindings.saved, at_mean_) : bindings.parameters.at(kRunningMean));
    const memory variance =
        channel_memory(training_ ? at(bindings.saved, at_variance_) : bindings.parameters.at(kRunningVar));
    Steps steps(engine_);
    steps.add(
        Forward(forward_),
        {{DNNL_ARG_SRC, engine_.memory(desc_, bindings.inputs.at(0))},
         {DNNL_ARG_SCALE, channel_memory(bindings.parameters.at(kScale))},
         {DNNL_ARG_SHIFT, channel_memory(bindings.parameters.at(kShift))},
         {DNNL_ARG_MEAN, mean},
         {DNNL_ARG_VARIANCE, variance},
         {DNNL_ARG_DST, engine_.memory(desc_, bindings.output)},
         {DNNL_ARG_WORKSPACE, training_ ? workspace(bindings.saved) : memory()},
         {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, forward_.scratchpad_desc(), bindings.scratch)}});
    return [steps, full = training_ ? batch_ : 0](const RunContext& context) {
      TRIREME_ASSERT(context.valid_samples >= full, "batch statistics would see padding rows");
      steps.run();
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    void* saved = bindings.saved;
    void* scratch = bindings.scratch;
    const std::function<void()> compute =
        bindings.input_grads.at(0) != nullptr ? all_gradients(bindings) : parameter_gradients(bindings);
    return [=, gradients = bindings.parameter_grads, count = channels_,
            unbiased = static_cast<double>(values_) / static_cast<double>(values_ - 1),
            diff_scale = at<const float>(scratch, at_diff_scale_),
            diff_shift = at<const float>(scratch, at_diff_shift_), mean = at<const float>(saved, at_mean_),
            variance = at<const float>(saved, at_variance_)](const RunContext& context) {
      compute();
      const double share = static_cast<double>(context.share_weight);
      store_gradient(gradients.at(kScale), diff_scale, count, context.accumulate);
      store_gradient(gradients.at(kShift), diff_shift, count, context.accumulate);
      store_statistic(gradients.at(kRunningMean), mean, share, count, context.accumulate);
      store_statistic(gradients.at(kRunningVar), variance, share * unbiased, count, context.accumulate);
    };
  }

  std::function<void()> all_gradients(const Bindings& bindings) const {
    void* saved = bindings.saved;
    void* scratch = bindings.scratch;
    Steps steps(engine_);
    steps.add(Backward(backward_),
              {{DNNL_ARG_SRC, engine_.memory(desc_, bindings.inputs.at(0))},
               {DNNL_ARG_SCALE, channel_memory(bindings.parameters.at(kScale))},
               {DNNL_ARG_SHIFT, channel_memory(bindings.parameters.at(kShift))},
               {DNNL_ARG_MEAN, channel_memory(at(saved, at_mean_))},
               {DNNL_ARG_VARIANCE, channel_memory(at(saved, at_variance_))},
               {DNNL_ARG_WORKSPACE, workspace(saved)},
               {DNNL_ARG_DIFF_DST, engine_.memory(desc_, bindings.output_grad)},
               {DNNL_ARG_DIFF_SRC, engine_.memory(desc_, bindings.input_grads.at(0))},
               {DNNL_ARG_DIFF_SCALE, channel_memory(at(scratch, at_diff_scale_))},
               {DNNL_ARG_DIFF_SHIFT, channel_memory(at(scratch, at_diff_shift_))},
               {DNNL_ARG_SCRATCHPAD,
                scratchpad_memory(engine_, backward_.scratchpad_desc(), at(scratch, at_scratchpad_))}});
    return [steps] { steps.run(); };
  }

  std::function<void()> parameter_gradients(const Bindings& bindings) const {
    TRIREME_ASSERT(facts_.output.shape.rank() == 4, "pictures come as [N,H,W,C]");
    const ParameterGradients gradients{facts_.output.shape,
                                       PhysicalIndex(desc_),
                                       op_.epsilon,
                                       op_.relu,
                                       static_cast<const float*>(bindings.inputs.at(0)),
                                       static_cast<const float*>(bindings.output_grad),
                                       bindings.parameters.at(kScale),
                                       bindings.parameters.at(kShift),
                                       at<const float>(bindings.saved, at_mean_),
                                       at<const float>(bindings.saved, at_variance_),
                                       at<float>(bindings.scratch, at_diff_scale_),
                                       at<float>(bindings.scratch, at_diff_shift_)};
    return [gradients] { gradients.compute(); };
  }

  BatchNormOp op_;
  memory::desc desc_;
  std::int64_t channels_, batch_, values_;
  Forward::primitive_desc forward_;
  Backward::primitive_desc backward_;
  std::size_t at_mean_ = 0, at_variance_ = 0, at_workspace_ = 0;
  std::size_t at_diff_scale_ = 0, at_diff_shift_ = 0, at_scratchpad_ = 0;
};

}  // namespace

void store_statistic(float* gradient, const float* value, double factor, std::int64_t count,
                     bool accumulate) {
  for (std::int64_t c = 0; c < count; ++c) {
    const auto share = static_cast<float>(factor * static_cast<double>(value[c]));
    gradient[c] = accumulate ? gradient[c] + share : share;
  }
}

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const BatchNormOp& op) {
  if (op.sync && request.training) return make_sync_batch_norm_plan(engine, request, op);
  return std::make_unique<BatchNormPlan>(engine, request, op);
}

}  // namespace trireme::cpu
