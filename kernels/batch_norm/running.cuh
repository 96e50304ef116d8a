// SPDX-License-Identifier: Apache-2.0
// What is kept of a batch's statistics, and what the running ones get.
#pragma once

#include "kernels/batch_norm/batch_norm.h"

namespace trireme::kernels {

struct SavedStatistics {
  SavedStatistics(const BatchNormSaved& saved, double with_epsilon)
      : mean(saved.mean),
        inverse_deviation(saved.inverse_deviation),
        variance(saved.variance),
        epsilon(with_epsilon) {}

  float *mean, *inverse_deviation, *variance;
  double epsilon;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(mean), visit(inverse_deviation), visit(variance);
  }

  __device__ __forceinline__ void store(int channel, double centre, double biased) const {
    simt::store(mean + channel, static_cast<float>(centre));
    simt::store(inverse_deviation + channel, static_cast<float>(1.0 / sqrt(biased + epsilon)));
    if (variance != nullptr) simt::store(variance + channel, static_cast<float>(biased));
  }
};

/// Gradients grow by value, or become it.
__device__ __forceinline__ void store_gradient(float* gradient, float value, bool accumulate) {
  simt::store(gradient, accumulate ? simt::load(gradient) + value : value);
}

struct RunningTarget {
  explicit RunningTarget(const RunningGradients& running)
      : mean(running.mean), variance(running.variance), step(running.step), accumulate(running.accumulate) {}

  float *mean, *variance;
  const StepValues* step;
  bool accumulate;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(mean), visit(variance), visit(step);
  }

  /// `biased` is the variance of `count` values.
  __device__ __forceinline__ void store(int channel, double centre, double biased, double count) const {
    if (mean == nullptr) return;
    const auto share = static_cast<double>(simt::load(&step->share_weight));
    store_gradient(mean + channel, static_cast<float>(share * centre), accumulate);
    store_gradient(variance + channel, static_cast<float>(share * (count / (count - 1)) * biased),
                   accumulate);
  }
};

}  // namespace trireme::kernels
