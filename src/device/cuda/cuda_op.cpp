// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_op.h"

#include "kernels/elementwise/elementwise.h"
#include "src/device/cuda/cuda_check.h"

namespace trireme::cuda {
DType CudaEngine::element() const {
  switch (precision) {
    case Precision::bf16:
      return DType::bf16;
    case Precision::fp16:
      return DType::f16;
    case Precision::tf32:
    case Precision::fp32:
      break;
  }
  return DType::f32;
}

void run_translated(const std::string& place, const std::function<void()>& body) {
  translating(place, body);
}

void mask_by_relu(const CudaEngine& engine, const ValueSpec& input, void* dx, const void* x) {
  if (!layout_of(input).after_relu) return;
  with_element(engine.precision, [&]<typename T>(T) {
    kernels::relu_backward(static_cast<T*>(dx), static_cast<const T*>(dx), static_cast<const T*>(x),
                           padded_count(input), engine.stream);
  });
}

}  // namespace trireme::cuda
