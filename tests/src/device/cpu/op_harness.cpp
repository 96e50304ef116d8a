// SPDX-License-Identifier: Apache-2.0
#include "tests/src/device/cpu/op_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/src/device/cpu/guarded_memory.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

using Memory = std::unique_ptr<GuardedMemory>;

/// The layout that a convolution gives to a picture of this shape.
ValueSpec preferred_spec(Device& device, const Shape& shape) {
  OpRequest request;
  request.op = Conv2dOp{shape[3], 3, 3, 1, 1, 1, 1, false, false};
  request.inputs = {
      ValueSpec{shape, DType::f32, nullptr, static_cast<std::size_t>(shape.count()) * sizeof(float)}};
  request.output_shape = shape;
  return device.plan_op(request)->facts().output;
}

ValueSpec spec_of(Device& device, const OpInput& input) {
  if (input.shape.rank() == 4 && input.arrangement == Arrangement::preferred)
    return preferred_spec(device, input.shape);
  return {input.shape, DType::f32, nullptr, static_cast<std::size_t>(input.shape.count()) * sizeof(float)};
}

/// Where element i of the C,H,W order lies in NHWC order.
std::vector<std::size_t> nhwc_from_features(const Shape& s) {
  std::vector<std::size_t> order;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t c = 0; c < s[3]; ++c)
      for (std::int64_t h = 0; h < s[1]; ++h)
        for (std::int64_t w = 0; w < s[2]; ++w)
          order.push_back(static_cast<std::size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c));
  return order;
}

std::unique_ptr<OpPlan> flatten_plan(Device& device, const ValueSpec& spec) {
  OpRequest request;
  request.op = FlattenOp{};
  request.inputs = {spec};
  request.output_shape = {spec.shape[0], spec.shape[1] * spec.shape[2] * spec.shape[3]};
  return device.plan_op(request);
}

/// Dense NHWC numbers into a value's layout, by way of flatten's backward.
void write_value(Device& device, const ValueSpec& spec, const std::vector<float>& values, void* to) {
  ASSERT_EQ(static_cast<std::int64_t>(values.size()), spec.shape.count());
  if (spec.layout == nullptr) {
    std::copy(values.begin(), values.end(), static_cast<float*>(to));
    return;
  }
  const std::vector<std::size_t> order = nhwc_from_features(spec.shape);
  std::vector<float> features(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) features[i] = values[order[i]];
  Bindings bindings;
  bindings.inputs = {nullptr};
  bindings.output_grad = features.data();
  bindings.input_grads = {to};
  flatten_plan(device, spec)->make_backward(bindings)->run({});
}

/// The way back, by flatten.
std::vector<float> read_value(Device& device, const ValueSpec& spec, void* from) {
  std::vector<float> values(static_cast<std::size_t>(spec.shape.count()));
  if (spec.layout == nullptr) {
    std::copy_n(static_cast<const float*>(from), values.size(), values.begin());
    return values;
  }
  const std::vector<std::size_t> order = nhwc_from_features(spec.shape);
  std::vector<float> features(values.size());
  Bindings bindings;
  bindings.inputs = {from};
  bindings.output = features.data();
  flatten_plan(device, spec)->make_forward(bindings)->run({});
  for (std::size_t i = 0; i < order.size(); ++i) values[order[i]] = features[i];
  return values;
}

class OpRun {
 public:
  OpRun(Device& device, const OpCase& op_case) : device_(device), case_(op_case) {
    OpRequest request;
    request.op = case_.op;
    for (const OpInput& input : case_.inputs) request.inputs.push_back(spec_of(device, input));
    request.output_shape = case_.output_shape;
    request.training = case_.training;
    inputs_ = request.inputs;
    plan_ = device.plan_op(request);
    if (case_.context.valid_samples == 0) case_.context.valid_samples = case_.output_shape[0];
    case_.context.accumulate = !case_.prior_gradients.empty();
    bind();
  }

  const OpFacts& facts() const { return plan_->facts(); }
  /// Of the pass that has begun.
  double* sums() const { return bindings_.group_sums; }

  void begin_forward() {
    poison_results();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      write_value(device_, inputs_[i], case_.inputs[i].values, bindings_.inputs[i]);
    inputs_before_.clear();
    for (const Memory& m : input_memory_) inputs_before_.push_back(m->bytes());
    forward_->run(case_.context);
  }

  void end_forward() {
    if (facts().group_sums.forward > 0) forward_->finish(case_.context);
    for (std::size_t i = forward_in_place_ ? 1 : 0; i < inputs_before_.size(); ++i)
      EXPECT_EQ(inputs_before_[i], input_memory_[i]->bytes()) << "forward changed input " << i;
    EXPECT_TRUE((forward_in_place_ ? input_memory_[0] : output_)->is_written()) << "output has holes";
    result_.output = read_value(device_, facts().output, bindings_.output);
  }

  void begin_backward() {
    scratch_->poison();
    group_sums_->poison();
    // In place, output and input 0 are one memory; it is needed if either is.
    if (!facts().backward_needs_inputs)
      for (std::size_t i = forward_in_place_ ? 1 : 0; i < input_memory_.size(); ++i)
        input_memory_[i]->poison();
    if (!facts().backward_needs_output) (forward_in_place_ ? input_memory_[0] : output_)->poison();
    write_value(device_, facts().output, case_.output_grad, output_grad_->data());
    gradient_before_ = output_grad_->bytes();
    for (std::size_t i = 0; i < case_.prior_gradients.size(); ++i)
      std::copy(case_.prior_gradients[i].begin(), case_.prior_gradients[i].end(),
                bindings_.parameter_grads[i]);
    backward_->run(case_.context);
  }

  void end_backward() {
    if (facts().group_sums.backward > 0) backward_->finish(case_.context);
    EXPECT_TRUE(backward_in_place_ || gradient_before_ == output_grad_->bytes())
        << "backward changed the output's gradient";
    collect_gradients();
  }

  OpResult result() {
    result_.facts = facts();
    result_.record = record_;
    return result_;
  }

 private:
  Memory memory(std::size_t bytes) { return std::make_unique<GuardedMemory>(device_, bytes); }

  void bind() {
    for (const ValueSpec& spec : inputs_) input_memory_.push_back(memory(spec.bytes));
    forward_in_place_ = case_.in_place && facts().output_may_overwrite_input &&
                        !(case_.training && facts().backward_needs_inputs);
    backward_in_place_ = case_.in_place && facts().input_grad_may_overwrite_output_grad;
    output_ = memory(facts().output.bytes);
    saved_ = memory(facts().saved_bytes);
    scratch_ = memory(std::max(facts().forward_scratch_bytes, facts().backward_scratch_bytes));
    output_grad_ = memory(facts().output.bytes);
    group_sums_ =
        memory(static_cast<std::size_t>(std::max(facts().group_sums.forward, facts().group_sums.backward)) *
               sizeof(double));
    bindings_.group_sums = static_cast<double*>(group_sums_->data());
    for (const Memory& input : input_memory_) bindings_.inputs.push_back(input->data());
    bindings_.output = forward_in_place_ ? input_memory_[0]->data() : output_->data();
    bindings_.saved = saved_->data();
    bindings_.scratch = scratch_->data();
    bindings_.output_grad = output_grad_->data();
    bindings_.record = &record_;
    bind_gradients();
    forward_ = plan_->make_forward(bindings_);
    if (case_.training) backward_ = plan_->make_backward(bindings_);
  }

  void bind_gradients() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      input_grads_.push_back(memory(inputs_[i].bytes));
      const bool shared = i == 0 && backward_in_place_;
      void* gradient = shared ? output_grad_->data() : input_grads_.back()->data();
      bindings_.input_grads.push_back(case_.inputs[i].wants_gradient ? gradient : nullptr);
    }
    for (const std::vector<float>& values : case_.parameters) {
      parameters_.push_back(memory(values.size() * sizeof(float)));
      std::copy(values.begin(), values.end(), parameters_.back()->floats());
      bindings_.parameters.push_back(parameters_.back()->floats());
      parameter_grads_.push_back(memory(values.size() * sizeof(float)));
      bindings_.parameter_grads.push_back(parameter_grads_.back()->floats());
    }
  }

  /// Binding may have written zeros to padding; other ops would have used the memory since then.
  void poison_results() {
    for (const Memory& m : input_grads_) m->poison();
    for (const Memory& m : input_memory_) m->poison();
    for (const auto* m : {&output_, &saved_, &scratch_, &output_grad_, &group_sums_}) (*m)->poison();
  }

  void collect_gradients() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      void* gradient = bindings_.input_grads[i];
      result_.input_grads.emplace_back();
      if (gradient == nullptr) continue;
      EXPECT_TRUE((gradient == output_grad_->data() ? output_grad_ : input_grads_[i])->is_written())
          << "gradient of input " << i << " has holes";
      result_.input_grads.back() = read_value(device_, inputs_[i], gradient);
    }
    for (std::size_t i = 0; i < parameter_grads_.size(); ++i) {
      const float* first = parameter_grads_[i]->floats();
      result_.parameter_grads.emplace_back(first, first + case_.parameters[i].size());
    }
  }

  Device& device_;
  OpCase case_;
  std::vector<ValueSpec> inputs_;
  std::unique_ptr<OpPlan> plan_;
  std::vector<Memory> input_memory_, input_grads_, parameters_, parameter_grads_;
  Memory output_, saved_, scratch_, output_grad_, group_sums_;
  std::vector<std::vector<unsigned char>> inputs_before_;
  std::vector<unsigned char> gradient_before_;
  bool forward_in_place_ = false, backward_in_place_ = false;
  StepRecord record_;
  Bindings bindings_;
  std::unique_ptr<Op> forward_, backward_;
  OpResult result_;
};

}  // namespace

namespace {

/// Every rank's first `count` sums become the sum of all.
void add_up(const std::vector<std::unique_ptr<OpRun>>& ranks, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (const auto& rank : ranks) sum += rank->sums()[i];
    for (const auto& rank : ranks) rank->sums()[i] = sum;
  }
}

}  // namespace

std::vector<OpResult> run_op_on_ranks(Device& device, const std::vector<OpCase>& cases) {
  std::vector<std::unique_ptr<OpRun>> ranks;
  for (const OpCase& op_case : cases) ranks.push_back(std::make_unique<OpRun>(device, op_case));
  for (const auto& rank : ranks) rank->begin_forward();
  add_up(ranks, ranks[0]->facts().group_sums.forward);
  for (const auto& rank : ranks) rank->end_forward();
  if (cases[0].training) {
    for (const auto& rank : ranks) rank->begin_backward();
    add_up(ranks, ranks[0]->facts().group_sums.backward);
    for (const auto& rank : ranks) rank->end_backward();
  }
  std::vector<OpResult> results;
  for (const auto& rank : ranks) results.push_back(rank->result());
  return results;
}

OpResult run_op(Device& device, const OpCase& op_case) {
  return run_op_on_ranks(device, {op_case})[0];
}

void expect_gradients_match_differences(Device& device, OpCase op_case, std::size_t parameters, double step,
                                        double tolerance) {
  const OpResult result = run_op(device, op_case);
  const auto loss = [&] { return dot(run_op(device, op_case).output, op_case.output_grad); };
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i)
    if (op_case.inputs[i].wants_gradient)
      expect_close(result.input_grads[i], central_differences(op_case.inputs[i].values, step, loss),
                   tolerance, "gradient of input " + std::to_string(i));
  for (std::size_t i = 0; i < parameters; ++i)
    expect_close(result.parameter_grads[i], central_differences(op_case.parameters[i], step, loss), tolerance,
                 "gradient of parameter " + std::to_string(i));
}

void expect_same_bits(const OpResult& a, const OpResult& b, const std::string& what) {
  const auto same = [&](const std::vector<float>& x, const std::vector<float>& y, const char* which) {
    ASSERT_EQ(x.size(), y.size()) << what << ", " << which;
    EXPECT_TRUE(x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0)
        << what << ", " << which;
  };
  same(a.output, b.output, "output");
  for (std::size_t i = 0; i < a.input_grads.size(); ++i)
    same(a.input_grads[i], b.input_grads[i], "input gradient");
  for (std::size_t i = 0; i < a.parameter_grads.size(); ++i)
    same(a.parameter_grads[i], b.parameter_grads[i], "parameter gradient");
}

}  // namespace trireme::testing
