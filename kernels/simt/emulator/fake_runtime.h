// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime API of the emulator: the functions of cuda_runtime_api.h that host code here uses are
// defined in fake_runtime_*.cpp, and no others, so that a call of one more fails to link.
//
// Errors are returned as CUDA returns them. cudaGetErrorString gives this thread's last error with its cause:
// what a kernel did wrong, or what was wrong with the pointers of a copy.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace trireme::simt::emulator {

/// Keeps `cause` for cudaGetErrorString and the error for cudaGetLastError.
cudaError_t report(cudaError_t error, std::string cause);

/// Calls `work`, which may wait for kernels; a failure of one becomes cudaErrorLaunchFailure.
cudaError_t guarded(const char* function, const std::function<cudaError_t()>& work);

/// For functions whose result is rarely looked at (cudaFree in destructors): the failure is kept and returned
/// by the next call that goes through guarded(). Where there is none, the process ends with it.
cudaError_t guarded_for_later(const char* function, const std::function<cudaError_t()>& work);

/// cudaErrorNoDevice, reported, where the machine has none.
cudaError_t check_for_device(const char* function);

}  // namespace trireme::simt::emulator
