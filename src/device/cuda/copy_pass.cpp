// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/copy_pass.h"

#include "src/device/cuda/cuda_check.h"

namespace trireme::cuda {

Pass copy_pass(const CudaEngine& engine, void* to, const void* from, std::size_t bytes) {
  if (to == nullptr || to == from) return [](const RunContext&) {};
  return [to, from, bytes, stream = engine.stream](const RunContext&) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  };
}

}  // namespace trireme::cuda
