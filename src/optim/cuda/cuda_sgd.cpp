// SPDX-License-Identifier: Apache-2.0
// A step is a few launches and never waits for itself: the flag of what is not finite, the norm, the learning
// rate and the loss scale meet in UpdateFactors on the device. Only the flag comes to the host, by an event
// that is recorded before the update, so that the device has the update to do while the host reads it:
//
//   check_finite (per part) ... [squared_norms] -> copy of the flag, event -> prepare_update -> sgd_step
//                                                                            -> [update_loss_scale]
#include "src/optim/cuda/cuda_sgd.h"

#include <utility>
#include <vector>

#include "kernels/optimizer/norms.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/step/step.h"
#include "src/core/error.h"

namespace trireme {
namespace {

kernels::SegmentRule rule_of(UpdateRule rule) {
  switch (rule) {
    case UpdateRule::decayed:
      return kernels::SegmentRule::decayed;
    case UpdateRule::exempt:
      return kernels::SegmentRule::exempt;
    case UpdateRule::statistic:
      return kernels::SegmentRule::statistic;
  }
  return kernels::SegmentRule::decayed;
}

kernels::HostSegments segments_of(const Graph& graph, const FlatLayout& layout, bool decay_norm_and_bias) {
  std::vector<kernels::Segment> segments;
  for (const FlatLayout::Entry& entry : layout.entries)
    segments.push_back({static_cast<std::int64_t>(entry.offset), static_cast<std::int64_t>(entry.count),
                        rule_of(update_rule(graph.parameter(entry.parameter), decay_norm_and_bias))});
  return kernels::make_segments(segments);
}

kernels::SgdOptions sgd_options(const OptimizerOptions& options) {
  return {static_cast<float>(options.momentum), options.nesterov, static_cast<float>(options.weight_decay),
          static_cast<float>(options.norm_momentum)};
}

Tensor bytes_of(void* data, std::size_t bytes) {
  return row_of(static_cast<unsigned char*>(data), static_cast<std::int64_t>(bytes));
}

class CudaSgd final : public Optimizer {
 public:
  CudaSgd(const Graph& graph, const FlatLayout& layout, const OptimizerOptions& options, CudaDevice& device)
      : device_(device),
        elements_(layout.elements),
        options_(sgd_options(options)),
        segments_(segments_of(graph, layout, options.decay_norm_and_bias)),
        tiles_(upload(segments_.tiles)),
        rules_(upload(segments_.rules)),
        first_tile_(upload(segments_.first_tile)),
        velocities_(device.allocate(layout.bytes())),
        values_(device.allocate(sizeof(kernels::StepValues))),
        factors_(device.allocate(sizeof(kernels::UpdateFactors))),
        not_finite_(device.allocate(sizeof(std::int32_t))),
        norms_(device.allocate((segments_.rules.size() + 1) * sizeof(double))),
        workspace_(device.allocate(kernels::squared_norms_workspace_bytes(segments_))),
        host_flag_(device.host_memory().allocate(sizeof(std::int32_t))),
        flag_copied_(device.make_event()) {}

  void step(ElementRange range, float* parameters, const float* gradients, double learning_rate,
            double gradient_factor) override {
    prepare(learning_rate, gradient_factor, {});
    update(range, parameters, gradients);
  }

  void inspect(ElementRange range, const float* gradients) override {
    kernels::check_finite(gradients + range.begin, static_cast<std::int64_t>(range.size()), flag(), stream());
  }

  bool step_if_finite(float* parameters, const float* gradients, double learning_rate,
                      double clip_norm) override {
    device_.copy(bytes_of(host_flag_->data(), sizeof(std::int32_t)), bytes_of(flag(), sizeof(std::int32_t)),
                 device_.compute_stream());
    device_.compute_stream().record(*flag_copied_);
    prepare(learning_rate, 1, {clip_norm, gradients, flag()});
    update({0, elements_}, parameters, gradients);
    if (device_.loss_scale() != nullptr)
      kernels::update_loss_scale(device_.loss_scale(), flag(), {}, stream());
    device_.zero(flag(), sizeof(std::int32_t), device_.compute_stream());
    flag_copied_->synchronize();
    return *static_cast<const std::int32_t*>(host_flag_->data()) == 0;
  }

  void step_clipped(float* parameters, const float* gradients, double learning_rate,
                    double clip_norm) override {
    prepare(learning_rate, 1, {clip_norm, gradients, nullptr});
    update({0, elements_}, parameters, gradients);
  }

  std::vector<OptimizerState> state() override {
    return {{"momentum", static_cast<float*>(velocities_->data())}};
  }

  std::optional<LossScale> loss_scale() override {
    if (device_.loss_scale() == nullptr) return std::nullopt;
    kernels::LossScaleState state;
    device_.copy(bytes_of(&state, sizeof state), bytes_of(device_.loss_scale(), sizeof state),
                 device_.compute_stream());
    device_.compute_stream().synchronize();
    return LossScale{state.scale, state.good_steps, state.skipped};
  }

  void set_loss_scale(const LossScale& scale) override {
    if (device_.loss_scale() == nullptr) return;
    kernels::LossScaleState state{scale.scale, scale.good_steps, scale.skipped};
    device_.copy(bytes_of(device_.loss_scale(), sizeof state), bytes_of(&state, sizeof state),
                 device_.compute_stream());
    device_.compute_stream().synchronize();
  }

 private:
  /// What a step looks at besides its own elements.
  struct Whole {
    double clip_norm = 0;
    const float* gradients = nullptr;          ///< with clip_norm
    const std::int32_t* not_finite = nullptr;  ///< null: never skipped
  };

  template <typename T>
  std::unique_ptr<Buffer> upload(const std::vector<T>& values) {
    auto buffer = device_.allocate(values.size() * sizeof(T));
    device_.copy(bytes_of(buffer->data(), buffer->bytes()),
                 bytes_of(const_cast<T*>(values.data()), buffer->bytes()), device_.compute_stream());
    return buffer;
  }

  cudaStream_t stream() { return device_.compute_handle(); }
  std::int32_t* flag() { return static_cast<std::int32_t*>(not_finite_->data()); }

  kernels::SegmentTable table() const {
    return {static_cast<const kernels::SegmentTile*>(tiles_->data()),
            static_cast<const kernels::SegmentRule*>(rules_->data()),
            static_cast<const std::int32_t*>(first_tile_->data()), static_cast<int>(segments_.tiles.size()),
            static_cast<int>(segments_.rules.size())};
  }

  void prepare(double learning_rate, double gradient_factor, const Whole& whole) {
    kernels::StepValues values;
    values.learning_rate = static_cast<float>(learning_rate);
    values.inverse_loss_scale = static_cast<float>(gradient_factor);
    TRIREME_ASSERT(device_.loss_scale() == nullptr || gradient_factor == 1,
                   "gradients of a scaled loss are divided by its scale alone");
    auto* const step_values = static_cast<kernels::StepValues*>(values_->data());
    kernels::set_step_values(step_values, values, device_.loss_scale(), stream());
    kernels::UpdateInputs inputs;
    inputs.step = step_values;
    inputs.not_finite = whole.not_finite;
    if (whole.clip_norm > 0) {
      auto* const per_segment = static_cast<double*>(norms_->data());
      double* const total = per_segment + segments_.rules.size();
      kernels::squared_norms(table(), whole.gradients, per_segment, total, workspace_->data(), stream());
      inputs.squared_norm = total;
      inputs.clip_norm = whole.clip_norm;
    }
    kernels::prepare_update(inputs, static_cast<kernels::UpdateFactors*>(factors_->data()), stream());
  }

  void update(ElementRange range, float* parameters, const float* gradients) {
    TRIREME_ASSERT(range.begin <= range.end && range.end <= elements_, "a range lies in the flat buffer");
    kernels::UpdateBuffers buffers;
    buffers.parameters = parameters;
    buffers.gradients = gradients;
    buffers.first = static_cast<float*>(velocities_->data());
    buffers.factors = static_cast<const kernels::UpdateFactors*>(factors_->data());
    const kernels::SegmentRange elements = kernels::make_range(
        segments_, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    if (elements.tile_count > 0) kernels::sgd_step(table(), elements, buffers, options_, stream());
  }

  CudaDevice& device_;
  std::size_t elements_;
  kernels::SgdOptions options_;
  kernels::HostSegments segments_;
  std::unique_ptr<Buffer> tiles_, rules_, first_tile_;
  std::unique_ptr<Buffer> velocities_, values_, factors_, not_finite_, norms_, workspace_;
  std::unique_ptr<Buffer> host_flag_;
  std::unique_ptr<Event> flag_copied_;
};

}  // namespace

std::unique_ptr<Optimizer> make_cuda_sgd(const Graph& graph, const FlatLayout& layout,
                                         const OptimizerOptions& options, CudaDevice& device) {
  return std::make_unique<CudaSgd>(graph, layout, options, device);
}

}  // namespace trireme
