// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_op.h"

#include <fmt/ranges.h>

#include <vector>

#include "kernels/elementwise/elementwise.h"
#include "src/device/cuda/cuda_check.h"

namespace trireme::cuda {
namespace {

class CudaOp final : public Op {
 public:
  CudaOp(std::string place, Pass pass, Pass end)
      : place_(std::move(place)), pass_(std::move(pass)), end_(std::move(end)) {}
  void run(const RunContext& context) override {
    translating(place_, [&] { pass_(context); });
  }
  void finish(const RunContext& context) override {
    TRIREME_ASSERT(end_, "only an op with sums over all ranks has a second part");
    translating(place_, [&] { end_(context); });
  }

 private:
  std::string place_;
  Pass pass_, end_;
};

}  // namespace

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

std::string describe(const OpRequest& request) {
  std::vector<std::string> inputs;
  for (const ValueSpec& input : request.inputs) inputs.push_back(input.shape.text());
  const std::string name = request.name.empty() ? "" : request.name + ", ";
  return fmt::format("{}{} {} to {}", name, op_name(request.op), fmt::join(inputs, " and "),
                     request.output_shape.text());
}

std::unique_ptr<Op> CudaOpPlan::make_forward(const Bindings& bindings) const {
  return translating(place_, [&] {
    return std::make_unique<CudaOp>(place_, bind_forward(bindings), bind_forward_end(bindings));
  });
}

std::unique_ptr<Op> CudaOpPlan::make_backward(const Bindings& bindings) const {
  TRIREME_ASSERT(training_, "an inference plan has no backward pass");
  const std::string place = "backward of " + place_;
  return translating(place, [&] {
    return std::make_unique<CudaOp>(place, bind_backward(bindings), bind_backward_end(bindings));
  });
}

void mask_by_relu(const CudaEngine& engine, const ValueSpec& input, void* dx, const void* x) {
  if (!layout_of(input).after_relu) return;
  with_element(engine.precision, [&]<typename T>(T) {
    kernels::relu_backward(static_cast<T*>(dx), static_cast<const T*>(dx), static_cast<const T*>(x),
                           padded_count(input), engine.stream);
  });
}

}  // namespace trireme::cuda
