// SPDX-License-Identifier: Apache-2.0
#include "tests/src/graph/naive_device.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "src/core/error.h"
#include "tests/src/graph/naive_ops.h"

namespace trireme::testing {

namespace {

void poison(void* data, std::size_t bytes) {
  std::fill_n(static_cast<float*>(data), bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
}

class NaiveOp final : public Op {
 public:
  NaiveOp(const OpRequest& request, const Bindings& bindings, NaiveKernel::Pass pass,
          std::size_t scratch_bytes, std::size_t output_bytes, int in_place_gradient = 0)
      : request_(request),
        bindings_(bindings),
        pass_(pass),
        scratch_bytes_(scratch_bytes),
        output_bytes_(output_bytes) {
    for (std::size_t k = 1; k < bindings.inputs.size(); ++k)
      TRIREME_ASSERT(output_bytes == 0 || bindings.inputs[k] != bindings.output,
                     "only input 0 may be overwritten");
    for (std::size_t k = 0; k < bindings.input_grads.size(); ++k)
      TRIREME_ASSERT(static_cast<int>(k) == in_place_gradient || bindings.input_grads[k] == nullptr ||
                         bindings.input_grads[k] != bindings.output_grad,
                     "only the gradient that the op names may overwrite the output's");
  }

  void run(const RunContext& context) override {
    if (bindings_.scratch != nullptr) poison(bindings_.scratch, scratch_bytes_);
    const auto& inputs = bindings_.inputs;
    if (output_bytes_ > 0 && std::find(inputs.begin(), inputs.end(), bindings_.output) == inputs.end())
      poison(bindings_.output, output_bytes_);
    pass_(request_, bindings_, context);
  }

 private:
  OpRequest request_;
  Bindings bindings_;
  NaiveKernel::Pass pass_;
  std::size_t scratch_bytes_, output_bytes_;
};

class NaivePlan final : public OpPlan {
 public:
  NaivePlan(const OpRequest& request, const NaiveOptions& options)
      : request_(request), kernel_(kernel_of(request)) {
    facts_ = kernel_.facts;
    facts_.output.shape = request.output_shape;
    facts_.output.bytes = static_cast<std::size_t>(request.output_shape.count()) * sizeof(float);
    facts_.forward_scratch_bytes = 300;  // every op takes some, to be poisoned
    facts_.backward_scratch_bytes = 1000;
    facts_.output_may_overwrite_input = options.in_place && kernel_.overwrites_forward;
    facts_.input_grad_may_overwrite_output_grad = options.in_place && kernel_.overwrites_backward;
    facts_.grads_are_aliases = facts_.grads_are_aliases && options.alias;
    facts_.adds_to_input_grad = facts_.adds_to_input_grad && options.adds_gradients;
  }

  std::unique_ptr<Op> make_forward(const Bindings& bindings) const override {
    return std::make_unique<NaiveOp>(request_, bindings, kernel_.forward, facts_.forward_scratch_bytes,
                                     facts_.output.bytes);
  }
  std::unique_ptr<Op> make_backward(const Bindings& bindings) const override {
    TRIREME_ASSERT(request_.training, "inference ops have no backward");
    return std::make_unique<NaiveOp>(request_, bindings, kernel_.backward, facts_.backward_scratch_bytes, 0,
                                     facts_.in_place_gradient);
  }

 private:
  OpRequest request_;
  NaiveKernel kernel_;
};

}  // namespace

std::unique_ptr<Buffer> NaiveDevice::allocate(std::size_t bytes) {
  return HostMemory().allocate(bytes);
}
std::unique_ptr<Stream> NaiveDevice::make_stream() {
  return std::make_unique<InlineStream>();
}
std::unique_ptr<Event> NaiveDevice::make_event() {
  return std::make_unique<InlineEvent>();
}

void NaiveDevice::copy(const Tensor& destination, const Tensor& source, Stream&) {
  TRIREME_ASSERT(destination.bytes() == source.bytes(), "copies keep the byte count");
  std::memcpy(destination.data, source.data, source.bytes());
}

void NaiveDevice::zero(void* data, std::size_t bytes, Stream&) {
  std::memset(data, 0, bytes);
}

std::vector<float> NaiveDevice::read(const ValueSpec& spec, const void* data, Stream&) {
  const auto* values = static_cast<const float*>(data);
  return {values, values + spec.shape.count()};
}

std::unique_ptr<OpPlan> NaiveDevice::plan_op(const OpRequest& request) {
  return std::make_unique<NaivePlan>(request, options_);
}

}  // namespace trireme::testing
