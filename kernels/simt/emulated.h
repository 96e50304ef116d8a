// SPDX-License-Identifier: Apache-2.0
// The vocabulary under a host compiler: every word has the signature it has in device.cuh. CUDA's own names
// (threadIdx,
// __syncthreads, __shfl_xor_sync ...) are defined here as variables and functions.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/simt/emulated_atomics.h"
#include "kernels/simt/emulated_matrix.h"
#include "kernels/simt/emulated_memory.h"
#include "kernels/simt/emulated_threads.h"
#include "kernels/simt/emulated_warp.h"
#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/vector16.h"

// A bare __shared__ would be one array for all blocks: a compile error instead.
// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names.
#undef __shared__
#undef __launch_bounds__
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)

#define SIMT_UNROLL
#define SIMT_NO_UNROLL

/// SIMT_LAUNCH(kernel, grid, block, shared bytes, stream, arguments...): `kernel` in parentheses where its
/// name holds a comma. Throws LaunchError or EmulationError.
#define SIMT_LAUNCH(kernel, ...)                                                                      \
  ::trireme::simt::emulator::launch(::trireme::simt::LaunchSite{#kernel, __FILE__, __LINE__}, kernel, \
                                    __VA_ARGS__)
