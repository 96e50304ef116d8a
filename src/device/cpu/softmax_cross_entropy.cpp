// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy over dense logits, row by row in float64. With z the logits of a row, l its label, C
// classes and smoothing s, the target is t_j = (1-s) [j = l] + s/C and
//   loss   = logsumexp(z) - sum_j t_j z_j
//   dz_j   = gradient_scale * (softmax(z)_j - t_j)
// Rows are few against the work of any network above them, so one thread walks them.
#include <cmath>

#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {
namespace {

struct Rows {
  std::int64_t batch, classes;
  double smoothing;
};

/// logsumexp of a row, shifted by the largest logit so that nothing overflows.
double log_sum_exp(const float* z, std::int64_t classes) {
  const double largest = static_cast<double>(*std::max_element(z, z + classes));
  double sum = 0;
  for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<double>(z[j]) - largest);
  return largest + std::log(sum);
}

double loss_of(const float* z, const Rows& rows, std::int64_t label, double logsumexp) {
  double mean = 0;
  if (rows.smoothing > 0) {
    for (std::int64_t j = 0; j < rows.classes; ++j) mean += static_cast<double>(z[j]);
    mean /= static_cast<double>(rows.classes);
  }
  const double target = (1 - rows.smoothing) * static_cast<double>(z[label]) + rows.smoothing * mean;
  return logsumexp - target;
}

/// 2^-24 steps. A loss that is not a number or huge counts as 2^16, which keeps any sum within 64 bits.
std::int64_t fixed_point(double loss) {
  constexpr double kLargest = 0x1p16;
  return std::llrint((loss < kLargest ? loss : kLargest) * 0x1p24);
}

/// Classes better than the label: a larger logit, or an equal one of a lower class. A row with NaN ranks
/// last.
std::int64_t rank_of(const float* z, std::int64_t classes, std::int64_t label) {
  std::int64_t better = 0;
  for (std::int64_t j = 0; j < classes; ++j) {
    if (std::isnan(z[j])) return classes;
    if (z[j] > z[label] || (z[j] == z[label] && j < label)) ++better;
  }
  return better;
}

void forward(const Rows& rows, const float* logits, const RunContext& context, float* losses,
             StepRecord& record) {
  for (std::int64_t n = 0; n < rows.batch; ++n) {
    losses[n] = 0;
    if (n >= context.valid_samples) continue;
    const float* z = logits + n * rows.classes;
    const std::int64_t label = context.labels[n];
    TRIREME_ASSERT(label >= 0 && label < rows.classes, "a label is one of the classes");
    const double loss = loss_of(z, rows, label, log_sum_exp(z, rows.classes));
    const std::int64_t rank = rank_of(z, rows.classes, label);
    losses[n] = static_cast<float>(loss);
    record.loss_sum += loss;
    record.loss_fixed += fixed_point(loss);
    record.samples += 1;
    record.top1 += rank < 1 ? 1 : 0;
    record.top5 += rank < 5 && rank < rows.classes ? 1 : 0;
  }
}

void backward(const Rows& rows, const float* logits, const RunContext& context, float* gradient) {
  const double everywhere = rows.smoothing / static_cast<double>(rows.classes);
  for (std::int64_t n = 0; n < rows.batch; ++n) {
    const float* z = logits + n * rows.classes;
    float* dz = gradient + n * rows.classes;
    if (n >= context.valid_samples) {
      std::fill_n(dz, rows.classes, 0.0F);
      continue;
    }
    const double logsumexp = log_sum_exp(z, rows.classes);
    for (std::int64_t j = 0; j < rows.classes; ++j) {
      const double target = everywhere + (j == context.labels[n] ? 1 - rows.smoothing : 0);
      const double difference = std::exp(static_cast<double>(z[j]) - logsumexp) - target;
      dz[j] = static_cast<float>(difference * static_cast<double>(context.gradient_scale));
    }
  }
}

class SoftmaxCrossEntropyPlan final : public CpuOpPlan {
 public:
  SoftmaxCrossEntropyPlan(const CpuEngine& engine, const OpRequest& request, const SoftmaxCrossEntropyOp& op)
      : CpuOpPlan(engine, request),
        rows_{request.inputs.at(0).shape[0], request.inputs[0].shape[1], training_ ? op.label_smoothing : 0} {
    TRIREME_ASSERT(request.inputs[0].layout == nullptr, "logits are a dense matrix");
    facts_.output = dense_value(request.output_shape);
    facts_.backward_needs_inputs = true;
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    TRIREME_ASSERT(bindings.record != nullptr, "the loss adds to a record");
    return [rows = rows_, logits = static_cast<const float*>(bindings.inputs.at(0)),
            losses = static_cast<float*>(bindings.output), record = bindings.record](
               const RunContext& context) { forward(rows, logits, context, losses, *record); };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    auto* gradient = static_cast<float*>(bindings.input_grads.at(0));
    if (gradient == nullptr) return [](const RunContext&) {};
    return [rows = rows_, gradient, logits = static_cast<const float*>(bindings.inputs.at(0))](
               const RunContext& context) { backward(rows, logits, context, gradient); };
  }

  Rows rows_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request,
                                  const SoftmaxCrossEntropyOp& op) {
  return std::make_unique<SoftmaxCrossEntropyPlan>(engine, request, op);
}

}  // namespace trireme::cpu
