// SPDX-License-Identifier: Apache-2.0
// A block takes a tile of one segment; memory traffic is each buffer once in and what changes once out.
#include "kernels/optimizer/optimizer.h"

#include <cmath>
#include <stdexcept>

#include "kernels/optimizer/tiles.cuh"

namespace trireme::kernels {
namespace {

using Four = simt::Vector16<float>;

/// The moving average of BN statistics.
struct Average {
  float keep, take;

  __device__ __forceinline__ float operator()(float statistic, float batch) const {
    return keep * statistic + take * batch;
  }
};

/// Updates know one element; they are made for a tile by `with` and change p and state, of which there are
/// kStates.
struct Sgd {
  static constexpr int kStates = 1;

  float momentum, decay;
  bool nesterov;
  float rate = 0, gradient = 0, ratio = 1;

  __device__ __forceinline__ Sgd with(const UpdateFactors& factors, bool decays, float segment_ratio) const {
    return {momentum,         decays ? decay : 0.0F, nesterov, factors.learning_rate,
            factors.gradient, segment_ratio};
  }
  __device__ __forceinline__ void operator()(float& p, float g, float (&state)[1]) const {
    const float direction = ratio * (gradient * g + decay * p);
    const float velocity = momentum * state[0] + direction;
    state[0] = velocity;
    p -= rate * (nesterov ? direction + momentum * velocity : velocity);
  }
};

struct AdamW {
  static constexpr int kStates = 2;

  float beta1, beta2, epsilon, decay;
  float shrink = 0, rate = 0, gradient = 0, second_correction = 0;

  __device__ __forceinline__ AdamW with(const UpdateFactors& factors, bool decays,
                                        float /*segment_ratio*/) const {
    AdamW made = *this;
    made.shrink = 1.0F - (decays ? factors.learning_rate * decay : 0.0F);
    made.rate = factors.learning_rate * factors.first_correction;
    made.gradient = factors.gradient;
    made.second_correction = factors.second_correction;
    return made;
  }
  __device__ __forceinline__ void operator()(float& p, float g, float (&state)[2]) const {
    const float scaled = gradient * g;
    state[0] = beta1 * state[0] + (1.0F - beta1) * scaled;
    state[1] = beta2 * state[1] + (1.0F - beta2) * scaled * scaled;
    p = shrink * p - rate * (state[0] / (sqrtf(state[1]) * second_correction + epsilon));
  }
};

template <typename Update>
struct StepArguments {
  SegmentTable segments;
  SegmentRange range;
  UpdateBuffers buffers;
  Update update;
  Average average;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    segments.visit_pointers(visit);
    buffers.visit_pointers(visit);
  }
};

__device__ __forceinline__ void step_statistics(const BlockTile& part, const UpdateBuffers& b,
                                                const Average& average) {
  for_each_in(
      part,
      [&](std::int64_t at) {
        Four statistics = simt::load16(b.parameters + at);
        const Four batch = simt::load16(b.gradients + at);
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) statistics[i] = average(statistics[i], batch[i]);
        simt::store16(b.parameters + at, statistics);
      },
      [&](std::int64_t at) {
        simt::store(b.parameters + at, average(simt::load(b.parameters + at), simt::load(b.gradients + at)));
      });
}

template <typename Update>
__device__ __forceinline__ void step_vector(std::int64_t at, const UpdateBuffers& b, const Update& update) {
  float* const states[2] = {b.first, b.second};
  Four p = simt::load16(b.parameters + at);
  const Four g = simt::load16(b.gradients + at);
  Four s[Update::kStates];
  SIMT_UNROLL
  for (int k = 0; k < Update::kStates; ++k) s[k] = simt::load16(states[k] + at);
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    float state[Update::kStates];
    SIMT_UNROLL
    for (int k = 0; k < Update::kStates; ++k) state[k] = s[k][i];
    update(p[i], g[i], state);
    SIMT_UNROLL
    for (int k = 0; k < Update::kStates; ++k) s[k][i] = state[k];
  }
  simt::store16(b.parameters + at, p);
  SIMT_UNROLL
  for (int k = 0; k < Update::kStates; ++k) simt::store16(states[k] + at, s[k]);
}

template <typename Update>
__device__ __forceinline__ void step_element(std::int64_t at, const UpdateBuffers& b, const Update& update) {
  float* const states[2] = {b.first, b.second};
  float p = simt::load(b.parameters + at);
  float state[Update::kStates];
  SIMT_UNROLL
  for (int k = 0; k < Update::kStates; ++k) state[k] = simt::load(states[k] + at);
  update(p, simt::load(b.gradients + at), state);
  simt::store(b.parameters + at, p);
  SIMT_UNROLL
  for (int k = 0; k < Update::kStates; ++k) simt::store(states[k] + at, state[k]);
}

template <typename Update>
__global__ void __launch_bounds__(kTileThreads) optimizer_step_tile_kernel(StepArguments<Update> a) {
  const UpdateFactors* const factors = a.buffers.factors;
  if (simt::load(&factors->skip) != 0) return;
  const BlockTile part = block_tile(a.segments, a.range);
  if (part.rule == SegmentRule::statistic) return step_statistics(part, a.buffers, a.average);
  const UpdateFactors values{simt::load(&factors->learning_rate), simt::load(&factors->gradient),
                             simt::load(&factors->first_correction), simt::load(&factors->second_correction),
                             0};
  const float ratio = a.buffers.ratios == nullptr ? 1.0F : simt::load(a.buffers.ratios + part.tile.segment);
  const Update update = a.update.with(values, part.rule == SegmentRule::decayed, ratio);
  for_each_in(
      part, [&](std::int64_t at) { step_vector(at, a.buffers, update); },
      [&](std::int64_t at) { step_element(at, a.buffers, update); });
}

template <typename Update>
void launch_step(const StepArguments<Update>& arguments, cudaStream_t stream) {
  if (arguments.range.tile_count == 0) return;
  SIMT_LAUNCH(optimizer_step_tile_kernel<Update>, static_cast<unsigned>(arguments.range.tile_count),
              kTileThreads, 0, stream, arguments);
}

}  // namespace

void sgd_step(const SegmentTable& segments, const SegmentRange& range, const UpdateBuffers& buffers,
              const SgdOptions& options, cudaStream_t stream) {
  const Sgd update{options.momentum, options.weight_decay, options.nesterov};
  launch_step<Sgd>({segments, range, buffers, update, {1.0F - options.norm_momentum, options.norm_momentum}},
                   stream);
}

void adamw_step(const SegmentTable& segments, const SegmentRange& range, const UpdateBuffers& buffers,
                const AdamWOptions& options, cudaStream_t stream) {
  if (buffers.ratios != nullptr) throw std::invalid_argument("adamw_step: ratios belong to sgd_step");
  const AdamW update{options.beta1, options.beta2, options.epsilon, options.weight_decay};
  launch_step<AdamW>(
      {segments, range, buffers, update, {1.0F - options.norm_momentum, options.norm_momentum}}, stream);
}

}  // namespace trireme::kernels
