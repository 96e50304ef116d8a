// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/gpu_facts.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace trireme {
namespace {

/// "12.8" of 12080; empty for 0.
std::string version_text(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// As nvidia-smi writes it.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", begins_group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string obstacle_of(cudaError_t status, const std::string& driver) {
  switch (status) {
    case cudaErrorInsufficientDriver:
      return driver.empty() ? "no NVIDIA driver is installed here"
                            : fmt::format("the NVIDIA driver (CUDA {}) is older than this program's CUDA {}",
                                          driver, version_text(CUDART_VERSION));
    case cudaErrorNoDevice:
      return "there is no GPU here, or none is visible (CUDA_VISIBLE_DEVICES, the job's GPU request)";
    case cudaErrorSystemDriverMismatch:
      return "the NVIDIA driver's library and its kernel module differ: a reboot after an update is missing";
    case cudaErrorSystemNotReady:
      return "the GPUs are not ready: the fabric manager does not run";
    default:
      return fmt::format("CUDA cannot be used: {} ({})", cudaGetErrorString(status),
                         cudaGetErrorName(status));
  }
}

}  // namespace

AcceleratorFacts read_gpu_facts() {
  AcceleratorFacts facts;
  int driver = 0, runtime = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  facts.driver = version_text(driver);
  facts.runtime = version_text(runtime);
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    facts.obstacle = obstacle_of(status == cudaSuccess ? cudaErrorNoDevice : status, facts.driver);
    cudaGetLastError();
    return facts;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    facts.gpus.push_back({index, properties.name, uuid_text(properties.uuid), properties.major,
                          properties.minor, properties.totalGlobalMem});
  }
  if (facts.gpus.empty()) facts.obstacle = "none of the GPUs answers";
  return facts;
}

}  // namespace trireme
