// SPDX-License-Identifier: Apache-2.0
// Training batch norm over the batches of all ranks. Each pass has two parts around one sum over the ranks:
//
//   forward    n, sum x, sum x^2                        -> all ranks' ->  mean, variance, y
//   backward   sum g, sum g (x - mean)                  -> all ranks' ->  dx
//              and this rank's part of the parameters' gradients
//
// With g = dy, let through by a fused ReLU where y > 0, and r = 1 / sqrt(variance + epsilon):
//   y  = scale r (x - mean) + shift
//   dx = scale r (g - sum g / n - r^2 (x - mean) sum g (x - mean) / n)
// where the sums and n are of all ranks. The gradients of scale and shift stay this rank's own sums, because
// the exchange adds them up; the running statistics get this rank's share of the statistics of all.
#include <cmath>

#include "src/device/cpu/batch_norm.h"
#include "src/device/cpu/batch_norm_loops.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

/// Rows of floats by channel, padding included, after an offset.
class ChannelRows {
 public:
  ChannelRows(Ranges& ranges, const ChannelBlocks& layout, std::size_t rows)
      : length_(static_cast<std::size_t>(layout.padded_channels())),
        offset_(ranges.add(rows * length_ * sizeof(float))) {}
  float* row(void* base, std::size_t index) const { return at<float>(base, offset_) + index * length_; }
  /// A row of zeros.
  float* cleared(void* base, std::size_t index) const {
    float* first = row(base, index);
    std::fill(first, first + length_, 0.0F);
    return first;
  }

 private:
  std::size_t length_, offset_;
};

/// Where everything lies, the same for all passes.
struct Memory {
  enum Saved : std::size_t { kMean, kVariance };
  enum Factor : std::size_t { kFactor, kShiftOrOffset, kSlope };

  explicit Memory(const ChannelBlocks& layout)
      : statistics(saved, layout, 2),
        at_count(saved.add(sizeof(double))),
        factors(scratch, layout, 3),
        at_partial(scratch.add(static_cast<std::size_t>(partial_sums(layout)) * sizeof(double))) {}

  Ranges saved, scratch;
  ChannelRows statistics;  ///< mean and biased variance of all ranks
  std::size_t at_count;    ///< n of all ranks, float64
  ChannelRows factors;
  std::size_t at_partial;
};

/// One op's two passes, each in two parts. `sums` are Bindings::group_sums.
struct SyncBatchNorm {
  ChannelBlocks layout;
  Memory memory;
  BatchNormOp op;
  std::string place;
  Bindings bindings;

  double* sums() const { return bindings.group_sums; }
  double* partial() const { return at<double>(bindings.scratch, memory.at_partial); }
  const float* x() const { return static_cast<const float*>(bindings.inputs.at(0)); }
  const float* dy() const { return static_cast<const float*>(bindings.output_grad); }
  const float* relu_output() const { return op.relu ? static_cast<const float*>(bindings.output) : nullptr; }
  float* mean() const { return memory.statistics.row(bindings.saved, Memory::kMean); }
  float* variance() const { return memory.statistics.row(bindings.saved, Memory::kVariance); }
  double& count() const { return *at<double>(bindings.saved, memory.at_count); }
  float* factor(Memory::Factor which) const { return memory.factors.cleared(bindings.scratch, which); }
  double inverse_deviation(std::int64_t c) const {
    return 1.0 / std::sqrt(static_cast<double>(variance()[c]) + op.epsilon);
  }

  void sum_forward() const {
    sums()[0] = static_cast<double>(layout.positions());
    channel_moments(layout, x(), partial(), sums() + 1);
  }

  void finish_forward() const {
    const double n = sums()[0];
    if (n < 2)
      throw make_error(Status::configuration, "batch norm over one value per channel has no variance")
          .at(place)
          .hint("give all ranks together at least two samples of a step");
    count() = n;
    float* means = memory.statistics.cleared(bindings.saved, Memory::kMean);
    float* variances = memory.statistics.cleared(bindings.saved, Memory::kVariance);
    float *factors = factor(Memory::kFactor), *shifts = factor(Memory::kShiftOrOffset);
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      const double centre = sums()[1 + c] / n;
      const double spread = sums()[1 + layout.channels + c] / n - centre * centre;
      means[c] = static_cast<float>(centre);
      variances[c] = static_cast<float>(spread < 0 ? 0 : spread);
      factors[c] = static_cast<float>(bindings.parameters.at(kScale)[c] * inverse_deviation(c));
      shifts[c] = bindings.parameters.at(kShift)[c];
    }
    normalize(layout, static_cast<float*>(bindings.output), x(), {means, factors, shifts}, op.relu);
  }

  void sum_backward(const RunContext& context) const {
    gradient_moments(layout, x(), dy(), relu_output(), mean(), partial(), sums());
    float *scale_sums = factor(Memory::kFactor), *shift_sums = factor(Memory::kShiftOrOffset);
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      shift_sums[c] = static_cast<float>(sums()[c]);
      scale_sums[c] = static_cast<float>(sums()[layout.channels + c] * inverse_deviation(c));
    }
    const std::vector<float*>& gradients = bindings.parameter_grads;
    const double share = static_cast<double>(context.share_weight);
    store_gradient(gradients.at(kScale), scale_sums, layout.channels, context.accumulate);
    store_gradient(gradients.at(kShift), shift_sums, layout.channels, context.accumulate);
    store_statistic(gradients.at(kRunningMean), mean(), share, layout.channels, context.accumulate);
    store_statistic(gradients.at(kRunningVar), variance(), share * (count() / (count() - 1)), layout.channels,
                    context.accumulate);
  }

  void finish_backward() const {
    if (bindings.input_grads.at(0) == nullptr) return;
    float *factors = factor(Memory::kFactor), *offsets = factor(Memory::kShiftOrOffset),
          *slopes = factor(Memory::kSlope);
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      const double inverse = inverse_deviation(c);
      factors[c] = static_cast<float>(bindings.parameters.at(kScale)[c] * inverse);
      offsets[c] = static_cast<float>(sums()[c] / count());
      slopes[c] = static_cast<float>(sums()[layout.channels + c] / count() * inverse * inverse);
    }
    input_gradient(layout, static_cast<float*>(bindings.input_grads[0]), dy(), x(), relu_output(),
                   {mean(), factors, offsets, slopes});
  }
};

class SyncBatchNormPlan final : public CpuOpPlan {
 public:
  SyncBatchNormPlan(const CpuEngine& engine, const OpRequest& request, const BatchNormOp& op)
      : CpuOpPlan(engine, request),
        layout_(desc_of(request.inputs.at(0))),
        memory_(layout_),
        op_(op),
        description_(describe(request)) {
    facts_.output = request.inputs[0];
    facts_.saved_bytes = memory_.saved.end();
    facts_.forward_scratch_bytes = facts_.backward_scratch_bytes = memory_.scratch.end();
    facts_.backward_needs_inputs = true;
    facts_.backward_needs_output = op.relu;
    facts_.input_grad_may_overwrite_output_grad = true;
    facts_.group_sums = {1 + 2 * layout_.channels, 2 * layout_.channels, "batch norm statistics"};
  }

 private:
  SyncBatchNorm bound(const Bindings& bindings) const {
    return {layout_, memory_, op_, description_, bindings};
  }

  Pass bind_forward(const Bindings& bindings) const override {
    return [norm = bound(bindings)](const RunContext& context) {
      TRIREME_ASSERT(context.valid_samples >= norm.layout.pictures,
                     "batch statistics would see padding rows");
      norm.sum_forward();
    };
  }
  Pass bind_forward_end(const Bindings& bindings) const override {
    return [norm = bound(bindings)](const RunContext&) { norm.finish_forward(); };
  }
  Pass bind_backward(const Bindings& bindings) const override {
    return [norm = bound(bindings)](const RunContext& context) { norm.sum_backward(context); };
  }
  Pass bind_backward_end(const Bindings& bindings) const override {
    return [norm = bound(bindings)](const RunContext&) { norm.finish_backward(); };
  }

  ChannelBlocks layout_;
  Memory memory_;
  BatchNormOp op_;
  std::string description_;
};

}  // namespace

std::unique_ptr<OpPlan> make_sync_batch_norm_plan(const CpuEngine& engine, const OpRequest& request,
                                                  const BatchNormOp& op) {
  return std::make_unique<SyncBatchNormPlan>(engine, request, op);
}

}  // namespace trireme::cpu
