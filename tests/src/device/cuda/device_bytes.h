// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "src/device/cuda/cuda_check.h"
#include "src/device/device.h"

namespace trireme::testing {

/// Device memory of an exact size, full of NaN. Host accesses wait for all work.
class DeviceBytes {
 public:
  DeviceBytes(BufferSource& source, std::size_t bytes) : buffer_(source.allocate(bytes)) { poison(); }

  void* data() const { return buffer_->data(); }
  std::size_t size() const { return buffer_->bytes(); }
  void poison() {
    if (size() > 0) check_cuda(cudaMemset(data(), 0xFF, size()), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void write(const void* from, std::size_t bytes) {
    if (bytes > 0) check_cuda(cudaMemcpy(data(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  std::vector<T> read() const {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> values(size() / sizeof(T));
    if (size() > 0)
      check_cuda(cudaMemcpy(values.data(), data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    return values;
  }

 private:
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace trireme::testing
