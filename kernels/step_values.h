// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// What changes from step to step. It lies in device memory and is written there before the step's first
/// kernel: kernels take a pointer to it and read single members (`simt::load(&step->seed)`), so that a
/// recorded CUDA graph with frozen arguments runs every step. The ids of the samples lie in a buffer of their
/// own, int64 [batch].
struct StepValues {
  std::uint64_t seed = 0;          ///< of the run; key of all random numbers
  std::int64_t step = 0;           ///< optimizer steps done before this one
  std::int64_t valid_samples = 0;  ///< rows of the batch from here on are padding
  std::uint32_t epoch = 0;
  float learning_rate = 0;
  float gradient_scale = 1;  ///< 1 / samples of the global step
  float share_weight = 1;    ///< valid samples of this micro-batch / samples of the global step
  float loss_scale = 1;      ///< factor of the loss in 16-bit gradients; 1: none
  float inverse_loss_scale = 1;
};

}  // namespace trireme::kernels
