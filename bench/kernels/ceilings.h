// SPDX-License-Identifier: Apache-2.0
// What the card at hand reaches at best, measured: the yardstick for all kernels.
#pragma once

#include <cuda_runtime_api.h>

#include "bench/kernels/kernel_case.h"

namespace trireme::bench {

struct Ceilings {
  double bytes_per_second = 0;  ///< a copy's reads and writes together
  double flops_per_second = 0;  ///< of mma.sync m16n8k16 in bf16, operands in registers
};
Ceilings measure_ceilings(Scale scale);

/// Least time of one call in seconds, by events, after calls that warm up.
double seconds_of(const std::function<void(cudaStream_t)>& launch, int repeats);

// The kernels behind it, in ceilings.cu.
void launch_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);
/// Every warp makes `steps` times 16 independent mma; `sink` [blocks * 256] keeps them from being left out.
void launch_products(float* sink, int blocks, int steps, cudaStream_t stream);
double flops_of_products(int blocks, int steps);

}  // namespace trireme::bench
