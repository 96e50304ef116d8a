// SPDX-License-Identifier: Apache-2.0
// Devices with the limits of an sm_80: what runs within them runs on every newer one. They have names of
// their own (UUID, bus), but share one memory.
#include <unistd.h>

#include <cstring>

#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/settings.h"

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

thread_local int current_device = 0;

cudaError_t check_device(const char* function, int device) {
  if (const cudaError_t status = check_for_device(function); status != cudaSuccess) return status;
  if (device >= 0 && device < settings().devices) return cudaSuccess;
  return report(cudaErrorInvalidDevice, std::string(function) + ": there are " +
                                            std::to_string(settings().devices) +
                                            " emulated devices, and no " + std::to_string(device));
}

/// Equal for two devices only where they are one: those of a shared machine by their number, those that a
/// process has to itself by the process.
void name_device(cudaDeviceProp& properties, int device) {
  const unsigned owner = settings().shared_devices ? 0 : static_cast<unsigned>(getpid());
  constexpr char kMaker[] = "SIMT";
  std::memcpy(properties.uuid.bytes, kMaker, 4);
  std::memcpy(properties.uuid.bytes + 4, &owner, sizeof owner);
  properties.uuid.bytes[15] = static_cast<char>(device);
  properties.pciDomainID = static_cast<int>(owner);
  properties.pciBusID = device + 1;
  properties.pciDeviceID = 0;
}

}  // namespace

cudaError_t check_for_device(const char* function) {
  if (settings().devices > 0) return cudaSuccess;
  return report(cudaErrorNoDevice, std::string(function) + ": no device is emulated (SIMT_DEVICES=0)");
}

}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return check_for_device("cudaGetDeviceCount");
}
cudaError_t cudaSetDevice(int device) {
  const cudaError_t status = check_device("cudaSetDevice", device);
  if (status == cudaSuccess) current_device = device;
  return status;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return check_for_device("cudaGetDevice");
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
  properties->totalGlobalMem = settings().memory_bytes;
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
  name_device(*properties, device);
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
