// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "src/device/cuda/cuda_check.h"

namespace trireme {
namespace {

class DeviceBuffer final : public Buffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : Buffer(nullptr, bytes) {
    if (bytes == 0) return;
    check_cuda(cudaMalloc(&data_, bytes), fmt::format("cudaMalloc of {} bytes", bytes));
    check_cuda(cudaMemset(data_, 0, bytes), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // other streams do not wait for the memset
  }
  ~DeviceBuffer() override { cudaFree(data_); }
};

class PinnedBuffer final : public Buffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) : Buffer(nullptr, bytes) {
    if (bytes == 0) return;
    check_cuda(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault),
               fmt::format("cudaHostAlloc of {} bytes", bytes));
    std::memset(data_, 0, bytes);
  }
  ~PinnedBuffer() override { cudaFreeHost(data_); }
};

}  // namespace

std::unique_ptr<Buffer> DeviceMemory::allocate(std::size_t bytes) {
  return std::make_unique<DeviceBuffer>(bytes);
}

std::shared_ptr<void> pin_host_memory(void* data, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (cudaHostRegister(data, bytes, cudaHostRegisterDefault) != cudaSuccess) {
    cudaGetLastError();  // copies are slower then, and right
    return nullptr;
  }
  return {data, [](void* pinned) { cudaHostUnregister(pinned); }};
}

std::unique_ptr<Buffer> PinnedMemory::allocate(std::size_t bytes) {
  return std::make_unique<PinnedBuffer>(bytes);
}

}  // namespace trireme
