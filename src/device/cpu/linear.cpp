// SPDX-License-Identifier: Apache-2.0
// y = x W^T + b as one matrix product per gradient, on the flat buffers themselves: weights of a large layer
// are read once and their gradient is written, or added to, in place.
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

struct Sizes {
  std::int64_t batch, in, out;
};

/// C = op(A) op(B) + beta C, row-major; op transposes where asked.
void multiply(bool transpose_a, bool transpose_b, std::int64_t rows, std::int64_t columns, std::int64_t inner,
              const float* a, const float* b, float beta, float* c) {
  dnnl::error::wrap_c_api(
      dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', rows, columns, inner, 1.0F, a,
                 transpose_a ? rows : inner, b, transpose_b ? inner : columns, beta, c, columns),
      "could not multiply matrices");
}

/// gradient[o] (+)= sum over rows of dy[row][o], in float64 row by row.
void store_bias_gradient(const float* dy, const Sizes& sizes, bool accumulate, float* gradient) {
#pragma omp parallel for
  for (std::int64_t o = 0; o < sizes.out; ++o) {
    double sum = 0;
    for (std::int64_t n = 0; n < sizes.batch; ++n) sum += static_cast<double>(dy[n * sizes.out + o]);
    gradient[o] = static_cast<float>(accumulate ? static_cast<double>(gradient[o]) + sum : sum);
  }
}

class LinearPlan final : public CpuOpPlan {
 public:
  LinearPlan(const CpuEngine& engine, const OpRequest& request, const LinearOp& op)
      : CpuOpPlan(engine, request),
        sizes_{request.output_shape[0], request.inputs.at(0).shape[1], op.out_features},
        bias_(op.bias) {
    TRIREME_ASSERT(request.inputs[0].layout == nullptr, "features are a dense matrix");
    facts_.output = dense_value(request.output_shape);
    facts_.backward_needs_inputs = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    const auto* x = static_cast<const float*>(bindings.inputs.at(0));
    const float* weight = bindings.parameters.at(0);
    const float* bias = bias_ ? bindings.parameters.at(1) : nullptr;
    return [=, y = static_cast<float*>(bindings.output), sizes = sizes_](const RunContext&) {
      if (bias != nullptr)
        for (std::int64_t n = 0; n < sizes.batch; ++n) std::copy_n(bias, sizes.out, y + n * sizes.out);
      multiply(false, true, sizes.batch, sizes.out, sizes.in, x, weight, bias != nullptr ? 1.0F : 0.0F, y);
    };
  }

  /// dx = dy W, dW = dy^T x, db = column sums of dy.
  Pass bind_backward(const Bindings& bindings) const override {
    const auto* x = static_cast<const float*>(bindings.inputs.at(0));
    const auto* dy = static_cast<const float*>(bindings.output_grad);
    auto* dx = static_cast<float*>(bindings.input_grads.at(0));
    const float* weight = bindings.parameters.at(0);
    float* weight_grad = bindings.parameter_grads.at(0);
    float* bias_grad = bias_ ? bindings.parameter_grads.at(1) : nullptr;
    return [=, sizes = sizes_](const RunContext& context) {
      multiply(true, false, sizes.out, sizes.in, sizes.batch, dy, x, context.accumulate ? 1.0F : 0.0F,
               weight_grad);
      if (bias_grad != nullptr) store_bias_gradient(dy, sizes, context.accumulate, bias_grad);
      if (dx != nullptr) multiply(false, false, sizes.batch, sizes.in, sizes.out, dy, weight, 0.0F, dx);
    };
  }

  Sizes sizes_;
  bool bias_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const LinearOp& op) {
  return std::make_unique<LinearPlan>(engine, request, op);
}

}  // namespace trireme::cpu
