// SPDX-License-Identifier: Apache-2.0
// One device, with the limits of an sm_80: what runs within them runs on every newer one.
#include <cstring>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/fake_runtime.h"

namespace trireme::simt::emulator {
namespace {

constexpr int kMultiprocessors = 108;
constexpr int kSharedBytesOfBlock = 48 * 1024;
constexpr int kSharedBytesOnRequest = 163 * 1024;
constexpr int kSharedBytesOfMultiprocessor = 164 * 1024;
constexpr int kThreadsOfBlock = 1024;
constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kRegisters = 65536;
constexpr int kL2Bytes = 40 << 20;

cudaError_t check_device(const char* function, int device) {
  if (device == 0) return cudaSuccess;
  return report(
      cudaErrorInvalidDevice,
      std::string(function) + ": the emulator has one device, number 0, not " + std::to_string(device));
}

}  // namespace
}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return check_device("cudaSetDevice", device);
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t status = check_device("cudaGetDeviceProperties", device); status != cudaSuccess)
    return status;
  *properties = {};
  std::strcpy(properties->name, "SIMT emulator");
  properties->totalGlobalMem = kDeviceMemoryBytes;
  properties->sharedMemPerBlock = kSharedBytesOfBlock;
  properties->sharedMemPerBlockOptin = kSharedBytesOnRequest;
  properties->sharedMemPerMultiprocessor = kSharedBytesOfMultiprocessor;
  properties->regsPerBlock = kRegisters;
  properties->regsPerMultiprocessor = kRegisters;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = kThreadsOfBlock;
  properties->maxThreadsPerMultiProcessor = kThreadsOfMultiprocessor;
  properties->multiProcessorCount = kMultiprocessors;
  properties->l2CacheSize = kL2Bytes;
  properties->major = 8;
  properties->minor = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t status = check_device("cudaDeviceGetAttribute", device); status != cudaSuccess)
    return status;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = 8;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = kThreadsOfBlock;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = kThreadsOfMultiprocessor;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedBytesOfBlock;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedBytesOnRequest;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = kL2Bytes;
      return cudaSuccess;
    default:
      return report(cudaErrorNotSupported,
                    "cudaDeviceGetAttribute: attribute " + std::to_string(attribute) + " is not emulated");
  }
}

cudaError_t cudaFuncSetAttribute(const void* /*function*/, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
      (value < 0 || value > kSharedBytesOnRequest))
    return report(cudaErrorInvalidValue,
                  "cudaFuncSetAttribute: " + std::to_string(value) +
                      " bytes of dynamic shared memory are more than a block can have");
  return cudaSuccess;
}

}  // extern "C"
