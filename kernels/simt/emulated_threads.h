// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/simt/emulator/block.h"

// Set whenever a thread of the block goes on. Variables, not macros: CUDA's headers have parameters of these
// names.
inline thread_local uint3 threadIdx;
inline thread_local uint3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;

// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names.
inline void __syncthreads(trireme::simt::emulator::Site site = trireme::simt::emulator::Site::here()) {
  trireme::simt::emulator::block_barrier(site);
}
inline void __threadfence() {}
// NOLINTEND(bugprone-reserved-identifier)

namespace trireme::simt {

using emulator::lane_id;
using emulator::warp_id;

inline void barrier_sync(int id, int threads, emulator::Site site = emulator::Site::here()) {
  emulator::named_barrier(id, threads, true, site);
}
inline void barrier_arrive(int id, int threads, emulator::Site site = emulator::Site::here()) {
  emulator::named_barrier(id, threads, false, site);
}

}  // namespace trireme::simt
