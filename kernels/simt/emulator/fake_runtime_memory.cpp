// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

/// An empty text, or why `count` bytes at `pointer` are not what the kind of copy says.
std::string fault_of(const char* function, const char* role, const void* pointer, std::size_t count,
                     bool is_device) {
  const bool is_ok = is_device ? is_live_device_range(pointer, count)
                               : pointer != nullptr && !is_live_device_range(pointer, 1);
  if (is_ok) return "";
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  return std::string(function) + ": the " + role + " " + address + " is not " +
         (is_device ? "device" : "host") + " memory of " + std::to_string(count) + " bytes: it is " +
         describe_pointer(pointer, count);
}

struct CopySides {
  bool to_device, from_device;
};

bool sides_of(cudaMemcpyKind kind, const void* to, const void* from, CopySides& sides) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      sides = {false, false};
      return true;
    case cudaMemcpyHostToDevice:
      sides = {true, false};
      return true;
    case cudaMemcpyDeviceToHost:
      sides = {false, true};
      return true;
    case cudaMemcpyDeviceToDevice:
      sides = {true, true};
      return true;
    case cudaMemcpyDefault:
      sides = {is_live_device_range(to, 1), is_live_device_range(from, 1)};
      return true;
  }
  return false;
}

cudaError_t check_stream(const char* function, cudaStream_t stream) {
  if (Streams::instance().is_stream(stream)) return cudaSuccess;
  return report(cudaErrorInvalidResourceHandle,
                std::string(function) + ": the stream does not exist or was destroyed");
}

/// As CUDA does it: a copy from pageable memory reads it before the call returns, one to pageable memory is
/// finished then; pinned memory is read and written when the copy's turn comes.
cudaError_t copy(const char* function, void* to, const void* from, std::size_t count, cudaMemcpyKind kind,
                 cudaStream_t stream, bool is_async) {
  if (const cudaError_t status = check_stream(function, stream); status != cudaSuccess) return status;
  if (count == 0) return cudaSuccess;
  CopySides sides{};
  if (!sides_of(kind, to, from, sides))
    return report(cudaErrorInvalidValue, std::string(function) + ": no such kind of copy");
  std::string fault = fault_of(function, "destination", to, count, sides.to_device);
  if (fault.empty()) fault = fault_of(function, "source", from, count, sides.from_device);
  if (!fault.empty()) return report(cudaErrorInvalidValue, fault);

  Streams& streams = Streams::instance();
  const bool from_pageable = !sides.from_device && !is_pinned_range(from, count);
  const bool to_pageable = !sides.to_device && !is_pinned_range(to, count);
  OperationPtr operation;
  if (is_async && from_pageable) {
    const auto* bytes = static_cast<const unsigned char*>(from);
    operation = streams.enqueue(stream, [to, staged = std::vector<unsigned char>(bytes, bytes + count)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  } else {
    operation = streams.enqueue(stream, [to, from, count] { std::memmove(to, from, count); });
  }
  const bool is_on_device = sides.to_device && sides.from_device;
  if (to_pageable || (!is_async && !is_on_device)) streams.wait(operation);
  return cudaSuccess;
}

cudaError_t set_bytes(const char* function, void* to, int value, std::size_t count, cudaStream_t stream) {
  if (const cudaError_t status = check_stream(function, stream); status != cudaSuccess) return status;
  if (count == 0) return cudaSuccess;
  const std::string fault = fault_of(function, "destination", to, count, true);
  if (!fault.empty()) return report(cudaErrorInvalidValue, fault);
  Streams::instance().enqueue(stream, [to, value, count] { std::memset(to, value, count); });
  return cudaSuccess;
}

cudaError_t allocate_host(const char* function, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue, std::string(function) + ": null");
  *pointer = bytes == 0 ? nullptr : allocate_pinned_memory(bytes);
  if (*pointer == nullptr && bytes != 0)
    return report(cudaErrorMemoryAllocation, std::string(function) + ": out of host memory");
  return cudaSuccess;
}

cudaError_t release(const char* function, void* pointer, bool (*free_memory)(void*)) {
  if (pointer == nullptr) return cudaSuccess;
  return guarded_for_later(function, [&] {
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

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = kDeviceMemoryBytes;
  *free = kDeviceMemoryBytes - used_device_memory();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  return guarded("cudaMemcpy", [&] { return copy("cudaMemcpy", to, from, count, kind, nullptr, false); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return guarded("cudaMemcpyAsync",
                 [&] { return copy("cudaMemcpyAsync", to, from, count, kind, stream, true); });
}
cudaError_t cudaMemset(void* to, int value, size_t count) {
  return guarded("cudaMemset", [&] { return set_bytes("cudaMemset", to, value, count, nullptr); });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t count, cudaStream_t stream) {
  return guarded("cudaMemsetAsync", [&] { return set_bytes("cudaMemsetAsync", to, value, count, stream); });
}

}  // extern "C"
