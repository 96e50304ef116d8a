// SPDX-License-Identifier: Apache-2.0
#include "tests/src/device/cuda/cuda_op_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/numeric.h"
#include "tests/src/device/cuda/device_bytes.h"

namespace trireme::testing {
namespace {

using Memory = std::unique_ptr<DeviceBytes>;

template <typename Body>
auto with_type(DType element, Body body) {
  if (element == DType::bf16) return body(kernels::BFloat16{});
  if (element == DType::f16) return body(kernels::Half{});
  return body(float{});
}

template <typename T>
std::vector<std::byte> laid_out_as(const ValueSpec& spec, const std::vector<float>& values) {
  const auto channels = static_cast<std::size_t>(spec.layout == nullptr ? 1 : channels_of(spec));
  const auto pitch = static_cast<std::size_t>(spec.layout == nullptr ? 1 : pitch_of(spec));
  std::vector<std::byte> bytes(spec.element_bytes());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = kernels::from_float<T>(values[i]);
    std::memcpy(bytes.data() + (i / channels * pitch + i % channels) * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

/// The elements' bytes hold zeros between channels and pitch.
void expect_zero_pads(const ValueSpec& spec, std::vector<std::byte> bytes, const std::string& what) {
  if (spec.layout == nullptr) return;
  bytes.resize(spec.element_bytes());
  const std::size_t element = size_of(spec.dtype);
  const auto channels = static_cast<std::size_t>(channels_of(spec)) * element;
  const auto pitch = static_cast<std::size_t>(pitch_of(spec)) * element;
  for (std::size_t row = 0; row < bytes.size(); row += pitch)
    for (std::size_t i = channels; i < pitch; ++i)
      ASSERT_EQ(bytes[row + i], std::byte{0}) << what << ": a pad of row " << row / pitch << " is not zero";
}

class OpRun {
 public:
  OpRun(CudaDevice& device, const CudaCase& op_case) : device_(device), case_(op_case) {
    OpRequest request;
    request.op = case_.op;
    for (const CudaInput& input : case_.inputs) inputs_.push_back(spec_of(input));
    request.inputs = inputs_;
    request.output_shape = case_.output_shape;
    request.training = case_.training;
    request.feeds_batch_norm = case_.feeds_batch_norm;
    request.feeds_convolutions = case_.feeds_convolutions;
    request.input_format = case_.input_format;
    plan_ = device.plan_op(request);
    if (case_.context.valid_samples == 0) case_.context.valid_samples = case_.output_shape[0];
    case_.context.accumulate = !case_.prior_gradients.empty();
    allocate();
    bind();
  }

  const OpFacts& facts() const { return plan_->facts(); }
  DeviceBytes& sums() { return *group_sums_; }

  void begin_forward() {
    poison({output_.get(), saved_.get(), scratch_.get(), group_sums_.get()});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const CudaInput& input = case_.inputs[i];
      input_memory_[i]->write(input.spec ? input.bytes : laid_out(inputs_[i], input.values));
    }
    run([&] { forward_->run(case_.context); });
  }

  void end_forward() {
    if (facts().group_sums.forward > 0) run([&] { forward_->finish(case_.context); });
    const DeviceBytes& output = shares_values_ ? *input_memory_[0] : *output_;
    result_.output = device_.read(facts().output, output.data(), device_.compute_stream());
    result_.output_bytes = output.read<std::byte>();
    expect_zero_pads(facts().output, result_.output_bytes, "output");
  }

  void begin_backward() {
    poison({scratch_.get(), group_sums_.get()});
    for (const Memory& gradient : input_grads_) gradient->poison();
    if (!facts().backward_needs_inputs)
      for (const Memory& input : input_memory_) input->poison();
    if (!facts().backward_needs_output) output_->poison();
    const std::vector<std::byte> gradient = laid_out(facts().output, case_.output_grad);
    output_grad_->write(gradient);
    for (std::size_t i = 0; i < case_.prior_gradients.size(); ++i)
      parameter_grads_[i]->write(case_.prior_gradients[i]);
    if (addend_ != nullptr) addend_->write(laid_out(inputs_[0], case_.input_grad_addend));
    if (case_.addend == Addend::in_place)
      input_grads_[0]->write(laid_out(inputs_[0], case_.input_grad_addend));
    run([&] { backward_->run(case_.context); });
    gradient_before_ = gradient;
  }

  void end_backward() {
    if (facts().group_sums.backward > 0) run([&] { backward_->finish(case_.context); });
    if (!shares_gradients_) {
      EXPECT_EQ(output_grad_->read<std::byte>(), gradient_before_)
          << "backward changed the output's gradient";
    }
    collect_gradients();
  }

  CudaResult result() {
    result_.facts = facts();
    result_.record = record_->read<StepRecord>()[0];
    return result_;
  }

 private:
  ValueSpec spec_of(const CudaInput& input) const {
    if (input.spec) return *input.spec;
    const ValueSpec value = cuda_value(input.shape, element_of(case_.precision), input.pitch);
    return input.after_relu ? after_relu(value) : value;
  }

  void run(const std::function<void()>& pass) {
    Stream& stream = device_.compute_stream();
    std::unique_ptr<Recording> recording;
    if (case_.recorded) {
      device_.write_step(step_->data(), {}, stream);
      std::string why;
      recording = device_.record(pass, why);
      ASSERT_NE(recording, nullptr) << why;
    }
    device_.write_step(step_->data(), case_.context, stream);
    if (recording != nullptr)
      recording->run();
    else
      pass();
    stream.synchronize();
  }

  Memory memory(std::size_t bytes) { return std::make_unique<DeviceBytes>(device_, bytes); }
  static void poison(std::initializer_list<DeviceBytes*> all) {
    for (DeviceBytes* bytes : all) bytes->poison();
  }

  void allocate() {
    shares_values_ = case_.in_place && !case_.training && facts().output_may_overwrite_input;
    shares_gradients_ = case_.in_place && facts().input_grad_may_overwrite_output_grad;
    for (const ValueSpec& spec : inputs_) {
      input_memory_.push_back(memory(spec.bytes));
      input_grads_.push_back(memory(spec.element_bytes()));
    }
    output_ = memory(facts().output.bytes);
    output_grad_ = memory(facts().output.element_bytes());
    saved_ = memory(facts().saved_bytes);
    scratch_ = memory(std::max(facts().forward_scratch_bytes, facts().backward_scratch_bytes));
    const std::int64_t sums = std::max(facts().group_sums.forward, facts().group_sums.backward);
    group_sums_ = memory(static_cast<std::size_t>(sums) * sizeof(double));
    step_ = memory(device_.step_bytes());
    record_ = memory(sizeof(StepRecord));
    record_->write(std::vector<StepRecord>(1));
    for (const std::vector<float>& values : case_.parameters) {
      parameters_.push_back(memory(values.size() * sizeof(float)));
      parameters_.back()->write(values);
      parameter_grads_.push_back(memory(values.size() * sizeof(float)));
    }
    if (case_.addend == Addend::apart) addend_ = memory(inputs_[0].element_bytes());
  }

  void bind() {
    Bindings bindings;
    for (const Memory& input : input_memory_) bindings.inputs.push_back(input->data());
    bindings.output = shares_values_ ? bindings.inputs[0] : output_->data();
    bindings.saved = saved_->data();
    bindings.scratch = scratch_->data();
    bindings.group_sums = static_cast<double*>(group_sums_->data());
    bindings.step = step_->data();
    bindings.record = static_cast<StepRecord*>(record_->data());
    bindings.output_grad = output_grad_->data();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool shared = shares_gradients_ && static_cast<int>(i) == facts().in_place_gradient;
      void* const gradient = shared ? output_grad_->data() : input_grads_[i]->data();
      bindings.input_grads.push_back(case_.inputs[i].wants_gradient ? gradient : nullptr);
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      bindings.parameters.push_back(static_cast<const float*>(parameters_[i]->data()));
      bindings.parameter_grads.push_back(static_cast<float*>(parameter_grads_[i]->data()));
    }
    if (case_.addend != Addend::none)
      bindings.input_grad_addend = addend_ != nullptr ? addend_->data() : bindings.input_grads[0];
    gradients_ = bindings.input_grads;
    forward_ = plan_->make_forward(bindings);
    if (case_.training) backward_ = plan_->make_backward(bindings);
  }

  void collect_gradients() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      result_.input_grads.emplace_back();
      if (gradients_[i] == nullptr) continue;
      ValueSpec spec = inputs_[i];
      spec.bytes = spec.element_bytes();
      spec.side_bytes = 0;
      result_.input_grads.back() = device_.read(spec, gradients_[i], device_.compute_stream());
      const Memory& where = gradients_[i] == output_grad_->data() ? output_grad_ : input_grads_[i];
      expect_zero_pads(spec, where->read<std::byte>(), "gradient of input " + std::to_string(i));
    }
    for (const Memory& gradient : parameter_grads_)
      result_.parameter_grads.push_back(gradient->read<float>());
  }

  CudaDevice& device_;
  CudaCase case_;
  std::vector<ValueSpec> inputs_;
  std::unique_ptr<OpPlan> plan_;
  std::vector<Memory> input_memory_, input_grads_, parameters_, parameter_grads_;
  Memory output_, saved_, scratch_, output_grad_, group_sums_, step_, record_, addend_;
  std::vector<void*> gradients_;
  std::vector<std::byte> gradient_before_;
  bool shares_values_ = false, shares_gradients_ = false;
  std::unique_ptr<Op> forward_, backward_;
  CudaResult result_;
};

/// Every rank's first `count` sums become the sum of all.
void add_up(const std::vector<std::unique_ptr<OpRun>>& ranks, std::int64_t count) {
  if (count == 0) return;
  std::vector<double> all = ranks[0]->sums().read<double>();
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const std::vector<double> more = ranks[rank]->sums().read<double>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) all[i] += more[i];
  }
  for (const auto& rank : ranks) rank->sums().write(all);
}

}  // namespace

std::unique_ptr<CudaDevice> make_test_device(Precision precision) {
  CudaDeviceOptions options;
  options.precision = precision;
  return make_cuda_device(options);
}

std::string text_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "?";
}

DType element_of(Precision precision) {
  if (precision == Precision::bf16) return DType::bf16;
  return precision == Precision::fp16 ? DType::f16 : DType::f32;
}

double unit_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 0x1p-24;
    case Precision::bf16:
      return 0x1p-8;
    case Precision::tf32:  // the lower bits are dropped, not rounded
      return 0x1p-10;
    case Precision::fp16:
      return 0x1p-11;
  }
  return 0;
}

std::vector<float> rounded(std::vector<float> values, DType element) {
  with_type(element, [&]<typename T>(T) {
    for (float& value : values) value = kernels::to_float(kernels::from_float<T>(value));
  });
  return values;
}

std::vector<std::byte> laid_out(const ValueSpec& spec, const std::vector<float>& values) {
  return with_type(spec.dtype, [&]<typename T>(T) { return laid_out_as<T>(spec, values); });
}

std::vector<CudaResult> run_op_on_ranks(CudaDevice& device, const std::vector<CudaCase>& cases) {
  std::vector<std::unique_ptr<OpRun>> ranks;
  ranks.reserve(cases.size());
  for (const CudaCase& op_case : cases) ranks.push_back(std::make_unique<OpRun>(device, op_case));
  for (const auto& rank : ranks) rank->begin_forward();
  add_up(ranks, ranks[0]->facts().group_sums.forward);
  for (const auto& rank : ranks) rank->end_forward();
  if (cases[0].training) {
    for (const auto& rank : ranks) rank->begin_backward();
    add_up(ranks, ranks[0]->facts().group_sums.backward);
    for (const auto& rank : ranks) rank->end_backward();
  }
  std::vector<CudaResult> results;
  results.reserve(ranks.size());
  for (const auto& rank : ranks) results.push_back(rank->result());
  return results;
}

CudaResult run_op(CudaDevice& device, const CudaCase& op_case) {
  return run_op_on_ranks(device, {op_case})[0];
}

void expect_same_bits(const CudaResult& a, const CudaResult& b, const std::string& what) {
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
