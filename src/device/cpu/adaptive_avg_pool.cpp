// SPDX-License-Identifier: Apache-2.0
// Adaptive average pooling, three ways: equal sizes are a copy, sizes that divide are oneDNN's pooling
// without overlap (global pooling among them), and the rest are plain loops over dense NHWC.
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

class CopyPlan final : public CpuOpPlan {
 public:
  CopyPlan(const CpuEngine& engine, const OpRequest& request)
      : CpuOpPlan(engine, request), count_(physical_count(desc_of(request.inputs.at(0)))) {
    facts_.output = request.inputs[0];
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.grads_are_aliases = true;
  }

 private:
  static Pass copying(void* to, const void* from, std::int64_t count) {
    if (to == nullptr) return [](const RunContext&) {};
    return [=](const RunContext&) { copy(static_cast<float*>(to), static_cast<const float*>(from), count); };
  }
  Pass bind_forward(const Bindings& bindings) const override {
    return copying(bindings.output, bindings.inputs.at(0), count_);
  }
  Pass bind_backward(const Bindings& bindings) const override {
    return copying(bindings.input_grads.at(0), bindings.output_grad, count_);
  }

  std::int64_t count_;
};

class DividingPlan final : public CpuOpPlan {
 public:
  DividingPlan(const CpuEngine& engine, const OpRequest& request)
      : CpuOpPlan(engine, request), src_(desc_of(request.inputs.at(0))) {
    const Shape &in = request.inputs[0].shape, &out = request.output_shape;
    const memory::dims window{in[1] / out[1], in[2] / out[2]}, pad{0, 0};
    const auto algorithm = dnnl::algorithm::pooling_avg_exclude_padding;
    const auto kind = training_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    forward_ = {
        {kind, algorithm, src_, any_desc(out), window, window, pad, pad}, user_scratchpad(), engine.engine};
    dst_ = forward_.dst_desc();
    facts_.output = value_of(out, dst_);
    facts_.forward_scratch_bytes = forward_.scratchpad_desc().get_size();
    if (!training_) return;
    backward_ = {
        {algorithm, src_, dst_, window, window, pad, pad}, user_scratchpad(), engine.engine, forward_};
    facts_.backward_scratch_bytes = backward_.scratchpad_desc().get_size();
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    Steps steps(engine_);
    steps.add(
        Forward(forward_),
        {{DNNL_ARG_SRC, engine_.memory(src_, bindings.inputs.at(0))},
         {DNNL_ARG_DST, engine_.memory(dst_, bindings.output)},
         {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, forward_.scratchpad_desc(), bindings.scratch)}});
    return [steps](const RunContext&) { steps.run(); };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    Steps steps(engine_);
    if (void* dx = bindings.input_grads.at(0))
      steps.add(
          Backward(backward_),
          {{DNNL_ARG_DIFF_DST, engine_.memory(dst_, bindings.output_grad)},
           {DNNL_ARG_DIFF_SRC, engine_.memory(src_, dx)},
           {DNNL_ARG_SCRATCHPAD, scratchpad_memory(engine_, backward_.scratchpad_desc(), bindings.scratch)}});
    return [steps](const RunContext&) { steps.run(); };
  }

  memory::desc src_, dst_;
  Forward::primitive_desc forward_;
  Backward::primitive_desc backward_;
};

struct Windows {
  std::int64_t batch, in_h, in_w, channels, out_h, out_w;

  static std::int64_t begin(std::int64_t i, std::int64_t in, std::int64_t out) { return i * in / out; }
  static std::int64_t end(std::int64_t i, std::int64_t in, std::int64_t out) {
    return ((i + 1) * in + out - 1) / out;
  }
  /// Calls body(output pixel, input pixel, pixels of the window) for every pair of pixels of sample n.
  template <typename Body>
  void for_each(std::int64_t n, const Body& body) const {
    for (std::int64_t oh = 0; oh < out_h; ++oh)
      for (std::int64_t ow = 0; ow < out_w; ++ow) {
        const std::int64_t h0 = begin(oh, in_h, out_h), h1 = end(oh, in_h, out_h);
        const std::int64_t w0 = begin(ow, in_w, out_w), w1 = end(ow, in_w, out_w);
        for (std::int64_t h = h0; h < h1; ++h)
          for (std::int64_t w = w0; w < w1; ++w)
            body((n * out_h + oh) * out_w + ow, (n * in_h + h) * in_w + w, (h1 - h0) * (w1 - w0));
      }
  }
};

void average_forward(const Windows& windows, const float* x, float* y) {
  const std::int64_t channels = windows.channels;
#pragma omp parallel for
  for (std::int64_t n = 0; n < windows.batch; ++n) {
    std::fill_n(y + n * windows.out_h * windows.out_w * channels, windows.out_h * windows.out_w * channels,
                0.0F);
    windows.for_each(n, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
      const float share = 1.0F / static_cast<float>(size);
      for (std::int64_t c = 0; c < channels; ++c) y[out * channels + c] += share * x[in * channels + c];
    });
  }
}

void average_backward(const Windows& windows, const float* dy, float* dx) {
  const std::int64_t channels = windows.channels;
#pragma omp parallel for
  for (std::int64_t n = 0; n < windows.batch; ++n) {
    std::fill_n(dx + n * windows.in_h * windows.in_w * channels, windows.in_h * windows.in_w * channels,
                0.0F);
    windows.for_each(n, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
      const float share = 1.0F / static_cast<float>(size);
      for (std::int64_t c = 0; c < channels; ++c) dx[in * channels + c] += share * dy[out * channels + c];
    });
  }
}

class GeneralPlan final : public CpuOpPlan {
 public:
  GeneralPlan(const CpuEngine& engine, const OpRequest& request)
      : CpuOpPlan(engine, request),
        src_(desc_of(request.inputs.at(0))),
        dense_(dense_desc(request.inputs[0].shape)) {
    const Shape &in = request.inputs[0].shape, &out = request.output_shape;
    windows_ = {in[0], in[1], in[2], in[3], out[1], out[2]};
    facts_.output = dense_value(out);
    facts_.forward_scratch_bytes = facts_.backward_scratch_bytes = src_ == dense_ ? 0 : dense_.get_size();
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    Steps steps(engine_);
    const memory dense =
        steps.arranged(engine_.memory(src_, bindings.inputs.at(0)), dense_, bindings.scratch);
    return [steps, windows = windows_, x = static_cast<const float*>(dense.get_data_handle()),
            y = static_cast<float*>(bindings.output)](const RunContext&) {
      steps.run();
      average_forward(windows, x, y);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    void* wanted = bindings.input_grads.at(0);
    if (wanted == nullptr) return [](const RunContext&) {};
    const bool direct = src_ == dense_;
    auto* dx = static_cast<float*>(direct ? wanted : bindings.scratch);
    Steps steps(engine_);
    if (!direct) steps.reorder(engine_.memory(dense_, dx), engine_.memory(src_, wanted));
    return [steps, windows = windows_, dx,
            dy = static_cast<const float*>(bindings.output_grad)](const RunContext&) {
      average_backward(windows, dy, dx);
      steps.run();
    };
  }

  memory::desc src_, dense_;
  Windows windows_{};
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request,
                                  const AdaptiveAvgPoolOp&) {
  const Shape &in = request.inputs.at(0).shape, &out = request.output_shape;
  if (in == out) return std::make_unique<CopyPlan>(engine, request);
  if (in[1] % out[1] == 0 && in[2] % out[2] == 0) return std::make_unique<DividingPlan>(engine, request);
  return std::make_unique<GeneralPlan>(engine, request);
}

}  // namespace trireme::cpu
