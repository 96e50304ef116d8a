// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/settings.h"
#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

/// Before memory comes or goes.
cudaError_t check_call(const char* function) {
  return guarded_for_later(function, [&] {
    Streams::instance().forbid_in_captures(function);
    return check_for_device(function);
  });
}

cudaError_t allocate_host(const char* function, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue, std::string(function) + ": null");
  if (const cudaError_t status = check_call(function); status != cudaSuccess) return status;
  *pointer = bytes == 0 ? nullptr : allocate_pinned_memory(bytes);
  if (*pointer == nullptr && bytes != 0)
    return report(cudaErrorMemoryAllocation, std::string(function) + ": out of host memory");
  return cudaSuccess;
}

cudaError_t release(const char* function, void* pointer, bool (*free_memory)(void*)) {
  if (pointer == nullptr) return cudaSuccess;
  return guarded_for_later(function, [&] {
    Streams::instance().forbid_in_captures(function);
    Streams::instance().wait_all();
    if (free_memory(pointer)) return cudaSuccess;
    return report(cudaErrorInvalidValue, std::string(function) + ": not the beginning of an allocation: " +
                                             describe_pointer(pointer));
  });
}

}  // namespace
}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue, "cudaMalloc: null");
  if (const cudaError_t status = check_call("cudaMalloc"); status != cudaSuccess) return status;
  *pointer = bytes == 0 ? nullptr : allocate_device_memory(bytes);
  if (*pointer == nullptr && bytes != 0)
    return report(cudaErrorMemoryAllocation, "cudaMalloc: out of device memory: " + std::to_string(bytes) +
                                                 " bytes asked for, " + std::to_string(used_device_memory()) +
                                                 " in use");
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  return release("cudaFree", pointer, free_device_memory);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate_host("cudaMallocHost", pointer, bytes);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned /*flags*/) {
  return allocate_host("cudaHostAlloc", pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
  return release("cudaFreeHost", pointer, free_pinned_memory);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned /*flags*/) {
  if (pointer == nullptr || bytes == 0 || is_live_device_range(pointer, 1))
    return report(cudaErrorInvalidValue,
                  "cudaHostRegister: no host memory: it is " + describe_pointer(pointer));
  if (const cudaError_t status = check_call("cudaHostRegister"); status != cudaSuccess) return status;
  if (pin_memory(pointer, bytes)) return cudaSuccess;
  return report(cudaErrorHostMemoryAlreadyRegistered,
                "cudaHostRegister: some of the memory is pinned already");
}
cudaError_t cudaHostUnregister(void* pointer) {
  return guarded_for_later("cudaHostUnregister", [&] {
    Streams::instance().forbid_in_captures("cudaHostUnregister");
    Streams::instance().wait_all();
    if (unpin_memory(pointer)) return cudaSuccess;
    return report(cudaErrorHostMemoryNotRegistered,
                  "cudaHostUnregister: not the beginning of registered memory: " + describe_pointer(pointer));
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const cudaError_t status = check_for_device("cudaMemGetInfo"); status != cudaSuccess) return status;
  const std::size_t used = used_device_memory();
  *total = settings().memory_bytes;
  *free = *total - (used < *total ? used : *total);
  return cudaSuccess;
}

}  // extern "C"
