// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum as PyTorch defines it. For a parameter p with gradient g, weight
// decay w and momentum u:
//   d = g + w p;  v = u v + d;  p = p - rate (nesterov ? d + u v : v)
// where v starts at zero, which is PyTorch's first step v = d. A BN statistic moves by p = (1 - m) p + m g
// instead.
#include <algorithm>
#include <utility>

#include "src/core/error.h"
#include "src/core/multiversion.h"
#include "src/optim/blocks.h"
#include "src/optim/host_optimizer.h"

namespace trireme {
namespace {

/// Factors of one step, as floats: all arithmetic on parameters is fp32.
struct Factors {
  float rate, momentum, decay, gradient;
};

TRIREME_MULTIVERSION
void update_momentum(float* __restrict parameters, const float* __restrict gradients,
                     float* __restrict velocities, std::size_t count, Factors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float direction = f.gradient * gradients[i] + f.decay * parameters[i];
    const float velocity = f.momentum * velocities[i] + direction;
    velocities[i] = velocity;
    parameters[i] -= f.rate * velocity;
  }
}

TRIREME_MULTIVERSION
void update_nesterov(float* __restrict parameters, const float* __restrict gradients,
                     float* __restrict velocities, std::size_t count, Factors f) {
  for (std::size_t i = 0; i < count; ++i) {
    const float direction = f.gradient * gradients[i] + f.decay * parameters[i];
    const float velocity = f.momentum * velocities[i] + direction;
    velocities[i] = velocity;
    parameters[i] -= f.rate * (direction + f.momentum * velocity);
  }
}

TRIREME_MULTIVERSION
void update_statistic(float* __restrict statistics, const float* __restrict batch_statistics,
                      std::size_t count, float keep, float take) {
  for (std::size_t i = 0; i < count; ++i) statistics[i] = keep * statistics[i] + take * batch_statistics[i];
}

class Sgd final : public HostOptimizer {
 public:
  Sgd(const Graph& graph, const FlatLayout& layout, const OptimizerOptions& options, BufferSource& memory)
      : HostOptimizer(graph, layout), options_(options), velocities_(memory.allocate(layout.bytes())) {
    for (const FlatLayout::Entry& entry : layout.entries)
      segments_.push_back({{entry.offset, entry.offset + entry.count},
                           update_rule(graph.parameter(entry.parameter), options.decay_norm_and_bias)});
  }

  void step(ElementRange range, float* parameters, const float* gradients, double learning_rate,
            double gradient_factor) override {
    TRIREME_ASSERT(range.begin <= range.end && range.end <= layout().elements,
                   "a range lies in the flat buffer");
    const auto ends_before = [](const Segment& segment, std::size_t at) { return segment.range.end <= at; };
    auto segment = std::lower_bound(segments_.begin(), segments_.end(), range.begin, ends_before);
    for (; segment != segments_.end() && segment->range.begin < range.end; ++segment) {
      const ElementRange part{std::max(range.begin, segment->range.begin),
                              std::min(range.end, segment->range.end)};
      const float decay =
          segment->rule == UpdateRule::decayed ? static_cast<float>(options_.weight_decay) : 0.0F;
      step_part(part, segment->rule, parameters, gradients,
                {static_cast<float>(learning_rate), static_cast<float>(options_.momentum), decay,
                 static_cast<float>(gradient_factor)});
    }
  }

  std::vector<OptimizerState> state() override {
    return {{"momentum", static_cast<float*>(velocities_->data())}};
  }

 private:
  struct Segment {
    ElementRange range;
    UpdateRule rule;
  };

  void step_part(ElementRange part, UpdateRule rule, float* parameters, const float* gradients,
                 const Factors& factors) {
    const auto update = options_.nesterov ? update_nesterov : update_momentum;
    const auto take = static_cast<float>(options_.norm_momentum);
    const std::size_t blocks = blocks_of(part.size());
    auto* velocities = static_cast<float*>(velocities_->data());
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t at = part.begin + b * kBlockElements;
      const std::size_t count = block_size(b, part.size());
      if (rule == UpdateRule::statistic)
        update_statistic(parameters + at, gradients + at, count, 1.0F - take, take);
      else
        update(parameters + at, gradients + at, velocities + at, count, factors);
    }
  }

  OptimizerOptions options_;
  std::unique_ptr<Buffer> velocities_;
  std::vector<Segment> segments_;
};

}  // namespace

UpdateRule update_rule(const Parameter& parameter, bool decay_norm_and_bias) {
  if (parameter.is_statistic()) return UpdateRule::statistic;
  const bool weight = parameter.role == ParamRole::conv_weight || parameter.role == ParamRole::linear_weight;
  return weight || decay_norm_and_bias ? UpdateRule::decayed : UpdateRule::exempt;
}

std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options, BufferSource& memory) {
  return std::make_unique<Sgd>(graph, layout, options, memory);
}

}  // namespace trireme
