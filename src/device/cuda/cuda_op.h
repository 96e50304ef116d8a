// SPDX-License-Identifier: Apache-2.0
// What the ops of the CUDA device share.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kernels/numeric.h"
#include "kernels/step_values.h"
#include "src/core/error.h"
#include "src/device/accelerator.h"
#include "src/device/cuda/cuda_layout.h"
#include "src/device/pass_op_plan.h"

namespace trireme {
class ConvolutionEngines;  // conv2d_engines.h
}

namespace trireme::cuda {

/// What a device gives its ops; it outlives them.
struct CudaEngine {
  cudaStream_t stream = nullptr;
  Precision precision = Precision::fp32;
  int multiprocessors = 1;
  ConvolutionEngines* engines = nullptr;  ///< null: our kernels alone

  /// Of activations and their gradients.
  DType element() const;
};

/// Calls body(T{}) with the element type of activations: BFloat16, Half or float.
template <typename Body>
decltype(auto) with_element(Precision precision, Body&& body) {
  switch (precision) {
    case Precision::bf16:
      return body(kernels::BFloat16{});
    case Precision::fp16:
      return body(kernels::Half{});
    case Precision::tf32:
    case Precision::fp32:
      break;
  }
  return body(float{});
}

/// The same with the type that products are computed in: Tf32 for tf32.
template <typename Body>
decltype(auto) with_product(Precision precision, Body&& body) {
  if (precision == Precision::tf32) return body(kernels::Tf32{});
  return with_element(precision, std::forward<Body>(body));
}

/// Byte ranges one after the other in one allocation, each aligned to 256 bytes.
class Ranges {
 public:
  /// Offset of a new range.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = (end_ + 255) / 256 * 256;
    end_ = offset + bytes;
    return offset;
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t end_ = 0;
};

/// Address `offset` bytes into `base`.
template <typename T = void>
T* at(void* base, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}

inline const kernels::StepValues* step_values(const Bindings& bindings) {
  return static_cast<const kernels::StepValues*>(bindings.step);
}

/// What a kernel's launcher throws comes back as an Error; see RunAt.
void run_translated(const std::string& place, const std::function<void()>& body);

/// Base of all plans of the CUDA device. Their passes are launches. Of the context they may read only the
/// pointers of the batch and `accumulate`: all else is in device memory, since launches may be recorded.
class CudaOpPlan : public PassOpPlan {
 public:
  CudaOpPlan(const CudaEngine& engine, const OpRequest& request)
      : PassOpPlan(request, run_translated), engine_(engine) {}

 protected:
  CudaEngine engine_;
};

/// dx = 0 where the input, made by a ReLU, is not positive: for ops that cannot do it while they make dx.
void mask_by_relu(const CudaEngine& engine, const ValueSpec& input, void* dx, const void* x);

// One function per op, each in the file of that name.
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const InputOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const Conv2dOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const BatchNormOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const ReluOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const MaxPoolOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request,
                                  const AdaptiveAvgPoolOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const LinearOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const DropoutOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const AddOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const FlattenOp& op);
std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request,
                                  const SoftmaxCrossEntropyOp& op);

}  // namespace trireme::cuda
