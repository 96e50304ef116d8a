// SPDX-License-Identifier: Apache-2.0
// Dropout whose mask is a function of (seed, epoch, sample): it is never stored, and is the same on every
// device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"
#include "kernels/step_values.h"

namespace trireme::kernels {

struct DropoutShape {
  int batch, pixels;  ///< pixels of a picture, 1 for features
  int channels, pitch;
};

/// Which random numbers: those of Philox(seed, stream, epoch, sample id).
struct DropoutKey {
  double probability;              ///< of an element to be dropped, in [0, 1)
  std::uint16_t stream;            ///< RandomStream::dropout + ordinal of the op
  const StepValues* step;          ///< device memory; seed and epoch are read
  const std::int64_t* sample_ids;  ///< device memory, [batch]
};

/// y = keep ? x / (1 - probability) : 0 for elements of [batch, pixels, pitch], where keep says that uniform
/// number c * pixels + p of the sample is at least `probability`. Backward is the same map from dy to dx. y
/// may be x. Pad channels, zeros, stay zeros.
template <typename T>
void dropout(T* y, const T* x, const DropoutKey& key, const DropoutShape& shape, cudaStream_t stream);

}  // namespace trireme::kernels
