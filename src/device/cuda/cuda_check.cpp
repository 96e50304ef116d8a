// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_check.h"

namespace trireme {
namespace {

Status status_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorNoKernelImageForDevice:
      return Status::configuration;
    case cudaErrorInvalidDevice:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return Status::peer_gone;
    default:
      return Status::internal;
  }
}

std::string_view hint_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "another process may hold the GPU's memory (nvidia-smi shows it); else a smaller --global-batch";
    case cudaErrorNoKernelImageForDevice:
      return "this program has no code for the GPU's compute capability";
    case cudaErrorInsufficientDriver:
      return "the NVIDIA driver is older than this program's CUDA";
    case cudaErrorDevicesUnavailable:
      return "another process uses the GPU alone";
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorNvlinkUncorrectable:
      return "the GPU is unusable for this process from now on; the kernel log (dmesg) may say more";
    default:
      return "";
  }
}

}  // namespace

void check_cuda(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  Error error = make_error(status_of(status), "CUDA: {} failed: {} ({})", call, cudaGetErrorString(status),
                           cudaGetErrorName(status));
  cudaGetLastError();  // told here: the next launch must not be blamed for it
  if (const std::string_view hint = hint_of(status); !hint.empty()) throw std::move(error).hint(hint);
  throw error;
}

Error kernel_error(const std::exception& error, const std::string& place) {
  const bool is_launch = dynamic_cast<const simt::LaunchError*>(&error) != nullptr;
  return make_error(is_launch ? Status::peer_gone : Status::configuration, "{}", error.what()).at(place);
}

}  // namespace trireme
