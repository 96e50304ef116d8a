// SPDX-License-Identifier: Apache-2.0
// The mask is drawn by sample id and by the element's place in C,H,W order, and stored in physical order, so
// that both passes are one loop over the buffer.
#include "src/core/philox.h"
#include "src/device/cpu/cpu_op.h"
#include "src/device/cpu/elementwise.h"

namespace trireme::cpu {
namespace {

/// Draws which elements of one sample are kept. The flags of padding elements stay undefined: those are zero,
/// kept or not.
void draw_mask(Philox random, double probability, const Shape& shape, const PhysicalIndex& index,
               std::int64_t n, std::uint8_t* keep) {
  const bool pictures = shape.rank() == 4;
  const std::int64_t channels = pictures ? shape[3] : shape[1];
  const std::int64_t height = pictures ? shape[1] : 1, width = pictures ? shape[2] : 1;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t h = 0; h < height; ++h)
      for (std::int64_t w = 0; w < width; ++w)
        keep[index(n, c, h, w)] = static_cast<double>(random.next_uniform()) >= probability ? 1 : 0;
}

class DropoutPlan final : public CpuOpPlan {
 public:
  DropoutPlan(const CpuEngine& engine, const OpRequest& request, const DropoutOp& op)
      : CpuOpPlan(engine, request), op_(op), desc_(desc_of(request.inputs.at(0))) {
    facts_.output = request.inputs[0];
    facts_.saved_bytes = training_ ? static_cast<std::size_t>(physical_count(desc_)) : 0;
    facts_.output_may_overwrite_input = true;
    facts_.input_grad_may_overwrite_output_grad = true;
  }

 private:
  float scale() const { return static_cast<float>(1.0 / (1.0 - op_.probability)); }

  Pass bind_forward(const Bindings& bindings) const override {
    auto* y = static_cast<float*>(bindings.output);
    const auto* x = static_cast<const float*>(bindings.inputs.at(0));
    const std::int64_t count = physical_count(desc_);
    if (!training_) return [=](const RunContext&) { copy(y, x, count); };
    return [=, keep = static_cast<std::uint8_t*>(bindings.saved), op = op_, shape = facts_.output.shape,
            index = PhysicalIndex(desc_), factor = scale()](const RunContext& context) {
      const auto stream = static_cast<std::uint16_t>(static_cast<int>(RandomStream::dropout) + op.ordinal);
#pragma omp parallel for
      for (std::int64_t n = 0; n < shape[0]; ++n) {
        const Philox random(context.seed, stream, context.epoch,
                            static_cast<std::uint64_t>(context.sample_ids[n]));
        draw_mask(random, op.probability, shape, index, n, keep);
      }
      masked_scale(y, x, keep, factor, count);
    };
  }

  Pass bind_backward(const Bindings& bindings) const override {
    auto* dx = static_cast<float*>(bindings.input_grads.at(0));
    if (dx == nullptr) return [](const RunContext&) {};
    return [dx, dy = static_cast<const float*>(bindings.output_grad),
            keep = static_cast<const std::uint8_t*>(bindings.saved), factor = scale(),
            count = physical_count(desc_)](const RunContext&) { masked_scale(dx, dy, keep, factor, count); };
  }

  DropoutOp op_;
  dnnl::memory::desc desc_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const DropoutOp& op) {
  TRIREME_ASSERT(op.probability >= 0 && op.probability < 1, "a dropout probability is in [0, 1)");
  return std::make_unique<DropoutPlan>(engine, request, op);
}

}  // namespace trireme::cpu
