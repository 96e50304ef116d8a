// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "kernels/simt/launch_error.h"

/// SIMT_LAUNCH(kernel, grid, block, shared bytes, stream, arguments...): `kernel` in parentheses where its
/// name holds a comma. Throws LaunchError.
#define SIMT_LAUNCH(kernel, ...) \
  ::trireme::simt::launch(::trireme::simt::LaunchSite{#kernel, __FILE__, __LINE__}, kernel, __VA_ARGS__)

namespace trireme::simt {

inline void check_launch(const LaunchSite& site, cudaError_t status) {
  if (status != cudaSuccess) throw LaunchError(site, cudaGetErrorString(status));
}

template <typename... Parameters, typename... Arguments>
void launch(const LaunchSite& site, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared_bytes, cudaStream_t stream, Arguments... arguments) {
  constexpr std::size_t kWithoutAsking = 48 * 1024;
  if (shared_bytes > kWithoutAsking)
    check_launch(site, cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared_bytes)));
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Parameters>(arguments)...);
  check_launch(site, cudaGetLastError());
}

}  // namespace trireme::simt
