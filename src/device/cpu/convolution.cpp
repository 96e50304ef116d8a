// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN's direct algorithm, in the layouts that its primitives ask for.
//
// Weights are flat OHWI; each call reorders them to the primitive's blocks in scratch, and backward reorders,
// or adds, the blocked gradient back. Activations keep the primitive's layout from op to op; one that comes
// in another is reordered to scratch. A fused ReLU is a post-op; its backward masks the output's gradient by
// output > 0.
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// What all three passes say about the convolution; layouts are left to the primitives.
struct Problem {
  memory::desc src, weights, bias, dst;
  memory::dims strides, pad;

  Problem(const OpRequest& request, const Conv2dOp& op)
      : src(any_desc(request.inputs.at(0).shape)),
        weights({op.out_channels, request.inputs[0].shape[3], op.kernel_h, op.kernel_w},
                memory::data_type::f32, memory::format_tag::any),
        dst(any_desc(request.output_shape)),
        strides{op.stride_h, op.stride_w},
        pad{op.pad_h, op.pad_w} {
    if (op.bias) bias = {{op.out_channels}, memory::data_type::f32, memory::format_tag::x};
  }

  Forward::primitive_desc forward(const dnnl::engine& engine, bool training, bool relu) const {
    dnnl::primitive_attr attributes = user_scratchpad();
    if (relu) {
      dnnl::post_ops post;
      post.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
      attributes.set_post_ops(post);
    }
    const auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    return {{kind, kDirect, src, weights, bias, dst, strides, pad, pad}, attributes, engine};
  }

  /// Few channels come from pictures, which lie plainly: blocks would only add padding there.
  BackwardData::primitive_desc backward_data(const dnnl::engine& engine, const memory::desc& input,
                                             const Forward::primitive_desc& hint) const {
    constexpr std::int64_t kFewChannels = 4;
    const memory::desc diff_src = src.dims()[1] <= kFewChannels ? input : src;
    return {{kDirect, diff_src, weights, dst, strides, pad, pad}, user_scratchpad(), engine, hint};
  }

  BackwardWeights::primitive_desc backward_weights(const dnnl::engine& engine,
                                                   const Forward::primitive_desc& hint) const {
    return {{kDirect, src, weights, bias, dst, strides, pad, pad}, user_scratchpad(), engine, hint};
  }
};

/// Bytes of scratch for a copy of `have` that lies as `wanted`.
std::size_t copy_bytes(const memory::desc& have, const memory::desc& wanted) {
  return have == wanted ? 0 : wanted.get_size();
}

class ConvolutionPlan final : public CpuOpPlan {
 public:
  ConvolutionPlan(const CpuEngine& engine, const OpRequest& request, const Conv2dOp& op)
      : CpuOpPlan(engine, request),
        relu_(op.relu),
        bias_count_(op.bias ? op.out_channels : 0),
        src_(desc_of(request.inputs.at(0))),
        flat_weights_({op.out_channels, request.inputs[0].shape[3], op.kernel_h, op.kernel_w},
                      memory::data_type::f32, memory::format_tag::ohwi) {
    const Problem problem(request, op);
    forward_ = problem.forward(engine.engine, training_, relu_);
    dst_ = forward_.dst_desc();
    facts_.output = value_of(request.output_shape, dst_);
    plan_forward_scratch();
    if (!training_) return;
    backward_data_ = problem.backward_data(engine.engine, src_, forward_);
    backward_weights_ = problem.backward_weights(engine.engine, forward_);
    facts_.backward_needs_inputs = true;
    facts_.backward_needs_output = relu_;
    plan_backward_scratch();
  }

 private:
  struct ForwardScratch {
    std::size_t src = 0, weights = 0, scratchpad = 0;
  };
  struct BackwardScratch {
    std::size_t masked = 0;
    std::size_t src = 0, dst_for_weights = 0, diff_weights = 0, diff_bias = 0, weights_scratchpad = 0;
    std::size_t weights = 0, dst_for_data = 0, diff_src = 0, data_scratchpad = 0;
  };

  void plan_forward_scratch() {
    Ranges ranges;
    at_forward_.src = ranges.add(copy_bytes(src_, forward_.src_desc()));
    at_forward_.weights = ranges.add(copy_bytes(flat_weights_, forward_.weights_desc()));
    at_forward_.scratchpad = ranges.add(forward_.scratchpad_desc().get_size());
    facts_.forward_scratch_bytes = ranges.end();
  }

  /// The two passes of backward run one after the other and share what lies behind the masked gradient.
  void plan_backward_scratch() {
    Ranges shared;
    at_backward_.masked = shared.add(relu_ ? dst_.get_size() : 0);
    Ranges for_weights(shared.end()), for_data(shared.end());
    at_backward_.src = for_weights.add(copy_bytes(src_, backward_weights_.src_desc()));
    at_backward_.dst_for_weights = for_weights.add(copy_bytes(dst_, backward_weights_.diff_dst_desc()));
    at_backward_.diff_weights = for_weights.add(backward_weights_.diff_weights_desc().get_size());
    at_backward_.diff_bias = for_weights.add(static_cast<std::size_t>(bias_count_) * sizeof(float));
    at_backward_.weights_scratchpad = for_weights.add(backward_weights_.scratchpad_desc().get_size());
    at_backward_.weights = for_data.add(copy_bytes(flat_weights_, backward_data_.weights_desc()));
    at_backward_.dst_for_data = for_data.add(copy_bytes(dst_, backward_data_.diff_dst_desc()));
    at_backward_.diff_src = for_data.add(copy_bytes(src_, backward_data_.diff_src_desc()));
    at_backward_.data_scratchpad = for_data.add(backward_data_.scratchpad_desc().get_size());
    facts_.backward_scratch_bytes = std::max(for_weights.end(), for_data.end());
  }

  Pass bind_forward(const Bindings& bindings) const override {
    void* scratch = bindings.scratch;
    Steps steps(engine_);
    const memory src = steps.arranged(engine_.memory(src_, bindings.inputs.at(0)), forward_.src_desc(),
                                      at(scratch, at_forward_.src));
    const memory weights = steps.arranged(engine_.memory(flat_weights_, bindings.parameters.at(0)),
                                          forward_.weights_desc(), at(scratch, at_forward_.weights));
    const memory bias =
        bias_count_ > 0 ? engine_.memory(forward_.bias_desc(), bindings.parameters.at(1)) : memory();
    steps.add(Forward(forward_),
              {{DNNL_ARG_SRC, src},
               {DNNL_ARG_WEIGHTS, weights},
               {DNNL_ARG_BIAS, bias},
               {DNNL_ARG_DST, engine_.memory(dst_, bindings.output)},
               {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, forward_.scratchpad_desc(),
                                                       at(scratch, at_forward_.scratchpad))}});
    return [steps](const RunContext&) { steps.run(); };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    void* scratch = bindings.scratch;
    auto* masked = at<float>(scratch, at_backward_.masked);
    const void* dy = relu_ ? masked : bindings.output_grad;
    const Steps weights_steps = weight_gradient(bindings, dy);
    const auto store_steps = weight_stores(bindings);
    const Steps data_steps = data_gradient(bindings, dy);
    return [=, output_grad = static_cast<const float*>(bindings.output_grad),
            output = static_cast<const float*>(bindings.output), relu = relu_, count = physical_count(dst_),
            bias_grad = bias_count_ > 0 ? bindings.parameter_grads.at(1) : nullptr,
            diff_bias = at<const float>(scratch, at_backward_.diff_bias),
            bias_count = bias_count_](const RunContext& context) {
      if (relu) relu_gradient(masked, output_grad, output, count);
      weights_steps.run();
      (context.accumulate ? store_steps.second : store_steps.first).run();
      if (bias_grad != nullptr) store_gradient(bias_grad, diff_bias, bias_count, context.accumulate);
      data_steps.run();
    };
  }

  /// Blocked weight gradient and bias gradient into scratch.
  Steps weight_gradient(const Bindings& bindings, const void* dy) const {
    void* scratch = bindings.scratch;
    const auto& plan = backward_weights_;
    Steps steps(engine_);
    const memory src = steps.arranged(engine_.memory(src_, bindings.inputs.at(0)), plan.src_desc(),
                                      at(scratch, at_backward_.src));
    const memory diff_dst = steps.arranged(engine_.memory(dst_, dy), plan.diff_dst_desc(),
                                           at(scratch, at_backward_.dst_for_weights));
    const memory diff_bias = bias_count_ > 0
                                 ? engine_.memory(plan.diff_bias_desc(), at(scratch, at_backward_.diff_bias))
                                 : memory();
    steps.add(BackwardWeights(plan),
              {{DNNL_ARG_SRC, src},
               {DNNL_ARG_DIFF_DST, diff_dst},
               {DNNL_ARG_DIFF_WEIGHTS,
                engine_.memory(plan.diff_weights_desc(), at(scratch, at_backward_.diff_weights))},
               {DNNL_ARG_DIFF_BIAS, diff_bias},
               {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, plan.scratchpad_desc(),
                                                       at(scratch, at_backward_.weights_scratchpad))}});
    return steps;
  }

  /// From the blocked weight gradient to the flat one: writing, and adding.
  std::pair<Steps, Steps> weight_stores(const Bindings& bindings) const {
    const memory blocked = engine_.memory(backward_weights_.diff_weights_desc(),
                                          at(bindings.scratch, at_backward_.diff_weights));
    const memory flat = engine_.memory(flat_weights_, bindings.parameter_grads.at(0));
    Steps write(engine_), add(engine_);
    write.reorder(blocked, flat);
    add.reorder(blocked, flat, true);
    return {write, add};
  }

  /// The input's gradient; no step if it is not wanted.
  Steps data_gradient(const Bindings& bindings, const void* dy) const {
    Steps steps(engine_);
    if (bindings.input_grads.at(0) == nullptr) return steps;
    void* scratch = bindings.scratch;
    const auto& plan = backward_data_;
    const memory weights = steps.arranged(engine_.memory(flat_weights_, bindings.parameters.at(0)),
                                          plan.weights_desc(), at(scratch, at_backward_.weights));
    const memory diff_dst = steps.arranged(engine_.memory(dst_, dy), plan.diff_dst_desc(),
                                           at(scratch, at_backward_.dst_for_data));
    const memory wanted = engine_.memory(src_, bindings.input_grads[0]);
    const bool direct = plan.diff_src_desc() == src_;
    const memory diff_src =
        direct ? wanted : engine_.memory(plan.diff_src_desc(), at(scratch, at_backward_.diff_src));
    steps.add(BackwardData(plan),
              {{DNNL_ARG_DIFF_DST, diff_dst},
               {DNNL_ARG_WEIGHTS, weights},
               {DNNL_ARG_DIFF_SRC, diff_src},
               {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, plan.scratchpad_desc(),
                                                       at(scratch, at_backward_.data_scratchpad))}});
    if (!direct) steps.reorder(diff_src, wanted);
    return steps;
  }

  bool relu_;
  std::int64_t bias_count_;
  memory::desc src_, dst_, flat_weights_;
  Forward::primitive_desc forward_;
  BackwardData::primitive_desc backward_data_;
  BackwardWeights::primitive_desc backward_weights_;
  ForwardScratch at_forward_;
  BackwardScratch at_backward_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const Conv2dOp& op) {
  return std::make_unique<ConvolutionPlan>(engine, request, op);
}

}  // namespace trireme::cpu
