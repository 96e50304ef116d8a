// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers_case.h"

#include <algorithm>

#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

Tensor bytes_at(const void* data, std::size_t bytes) {
  return row_of(static_cast<unsigned char*>(const_cast<void*>(data)), static_cast<std::int64_t>(bytes));
}

ValueSpec input_spec(Device& device, const Shape& shape) {
  OpRequest request{InputOp{}, {}, shape};
  request.name = "input";
  return device.plan_op(request)->facts().output;
}

/// Features are pictures of one pixel until they are flattened.
std::unique_ptr<OpPlan> plan_flatten(Device& device, const ValueSpec& picture) {
  const std::int64_t batch = picture.shape[0];
  OpRequest request{FlattenOp{}, {picture}, Shape{batch, picture.shape.count() / batch}};
  request.name = "flatten";
  return device.plan_op(request);
}

Bindings memory_of(std::vector<void*> inputs, void* output, void* saved, void* scratch) {
  Bindings bindings;
  bindings.inputs = std::move(inputs);
  bindings.output = output;
  bindings.saved = saved;
  bindings.scratch = scratch;
  return bindings;
}

}  // namespace

std::vector<float> exact_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<int>(state >> 16U) % 129 - 64) / 64;
  }
  return numbers;
}

LayerCase::LayerCase(Device& device, const BenchLayer& layer, std::int64_t batch)
    : device_(device), layer_(layer), batch_(batch) {
  const bool is_picture = layer.input.rank() == 3;
  x_.spec =
      is_picture
          ? input_spec(device, layer.input.with_outer(batch))
          : plan_flatten(device, input_spec(device, Shape{batch, 1, 1, layer.input.count()}))->facts().output;
  x_.memory = device.allocate(x_.spec.bytes);
  OpRequest request{layer.op, {x_.spec}, layer.output.with_outer(batch)};
  request.feeds_batch_norm = layer.feeds_batch_norm;
  request.name = layer.name;
  plan_ = device.plan_op(request);
  bind();
}

RunContext LayerCase::context() const {
  RunContext context;
  context.valid_samples = batch_;
  context.sample_ids = static_cast<const std::int64_t*>(ids_->data());
  return context;
}

void LayerCase::bind() {
  const OpFacts& facts = plan_->facts();
  const auto floats = [&](std::int64_t count) {
    return device_.allocate(static_cast<std::size_t>(count) * sizeof(float));
  };
  const std::int64_t channels = layer_.output[layer_.output.rank() - 1];
  y_ = device_.allocate(facts.output.bytes);
  dy_ = device_.allocate(facts.output.element_bytes());
  if (layer_.has_input_gradient) dx_ = device_.allocate(x_.spec.bytes);
  weights_ = floats(layer_.weights());
  dweights_ = floats(layer_.weights());
  bias_ = floats(channels);
  dbias_ = floats(channels);
  saved_ = device_.allocate(facts.saved_bytes);
  scratch_ = device_.allocate(std::max(facts.forward_scratch_bytes, facts.backward_scratch_bytes));
  step_ = device_.allocate(device_.step_bytes());
  ids_ = device_.allocate(static_cast<std::size_t>(batch_) * sizeof(std::int64_t));
  Bindings bindings = memory_of({x_.memory->data()}, y_->data(), saved_->data(), scratch_->data());
  bindings.parameters = {static_cast<const float*>(weights_->data())};
  bindings.parameter_grads = {static_cast<float*>(dweights_->data())};
  if (layer_.has_bias()) {
    bindings.parameters.push_back(static_cast<const float*>(bias_->data()));
    bindings.parameter_grads.push_back(static_cast<float*>(dbias_->data()));
  }
  bindings.step = step_->data();
  forward_ = plan_->make_forward(bindings);
  bindings.output_grad = dy_->data();
  bindings.input_grads = {nullptr};
  backward_of_parameters_ = plan_->make_backward(bindings);
  if (dx_ == nullptr) return;
  bindings.input_grads = {dx_->data()};
  backward_ = plan_->make_backward(bindings);
}

void LayerCase::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) device_.copy(bytes_at(to, bytes), bytes_at(from, bytes), device_.compute_stream());
}

void LayerCase::fill_parameters(const std::vector<float>& weights, const std::vector<float>& bias) {
  copy(weights_->data(), weights.data(), weights.size() * sizeof(float));
  copy(bias_->data(), bias.data(), bias.size() * sizeof(float));
  device_.compute_stream().synchronize();
}

StagedValue LayerCase::stage(const Shape& shape, const std::vector<float>& values) {
  OpRequest request{InputOp{}, {}, shape};
  request.name = "input";
  const std::unique_ptr<OpPlan> plan = device_.plan_op(request);
  const OpFacts& facts = plan->facts();
  StagedValue staged{facts.output, device_.allocate(facts.output.bytes)};
  const auto pictures = device_.allocate(values.size() * sizeof(float));
  const auto saved = device_.allocate(facts.saved_bytes);
  const auto scratch = device_.allocate(facts.forward_scratch_bytes);
  copy(pictures->data(), values.data(), values.size() * sizeof(float));
  Bindings bindings = memory_of({}, staged.memory->data(), saved->data(), scratch->data());
  bindings.step = step_->data();
  RunContext run = context();
  run.images = pictures->data();
  device_.write_step(step_->data(), run, device_.compute_stream());
  plan->make_forward(bindings)->run(run);
  device_.compute_stream().synchronize();
  return staged;
}

StagedValue LayerCase::stage_rows(std::int64_t features, const std::vector<float>& values) {
  const StagedValue pixels = stage(Shape{batch_, 1, 1, features}, values);
  const std::unique_ptr<OpPlan> plan = plan_flatten(device_, pixels.spec);
  StagedValue rows{plan->facts().output, device_.allocate(plan->facts().output.bytes)};
  const auto scratch = device_.allocate(plan->facts().forward_scratch_bytes);
  const auto saved = device_.allocate(plan->facts().saved_bytes);
  Bindings bindings = memory_of({pixels.memory->data()}, rows.memory->data(), saved->data(), scratch->data());
  bindings.step = step_->data();
  plan->make_forward(bindings)->run(context());
  device_.compute_stream().synchronize();
  return rows;
}

void LayerCase::fill_values(const std::vector<float>& x, const std::vector<float>& dy) {
  const bool is_picture = layer_.input.rank() == 3;
  const StagedValue input =
      is_picture ? stage(layer_.input.with_outer(batch_), x) : stage_rows(layer_.input.count(), x);
  copy(x_.memory->data(), input.memory->data(), x_.spec.bytes);
  const StagedValue rows = stage_rows(layer_.output.count(), dy);
  if (!is_picture) {
    copy(dy_->data(), rows.memory->data(), dy_->bytes());
  } else {  // what flatten gives back to its input is in the layer's own layout
    const std::unique_ptr<OpPlan> plan = plan_flatten(device_, plan_->facts().output);
    const auto scratch = device_.allocate(plan->facts().backward_scratch_bytes);
    const auto saved = device_.allocate(plan->facts().saved_bytes);
    const auto output = device_.allocate(plan->facts().output.bytes);
    Bindings bindings = memory_of({y_->data()}, output->data(), saved->data(), scratch->data());
    bindings.step = step_->data();
    if (plan->facts().grads_are_aliases) {
      copy(dy_->data(), rows.memory->data(), dy_->bytes());
    } else {
      bindings.output_grad = rows.memory->data();
      bindings.input_grads = {dy_->data()};
      plan->make_backward(bindings)->run(context());
    }
    device_.compute_stream().synchronize();
  }
  device_.compute_stream().synchronize();
}

void LayerCase::fill_values(const LayerCase& small) {
  const auto repeat = [&](Buffer& to, std::size_t to_bytes, const Buffer& from, std::size_t from_bytes) {
    for (std::size_t at = 0; at < to_bytes; at += from_bytes)
      copy(static_cast<unsigned char*>(to.data()) + at, from.data(), std::min(from_bytes, to_bytes - at));
  };
  repeat(*x_.memory, x_.spec.bytes, *small.x_.memory, small.x_.spec.bytes);
  repeat(*dy_, dy_->bytes(), *small.dy_, small.dy_->bytes());
  repeat(*weights_, weights_->bytes(), *small.weights_, small.weights_->bytes());
  repeat(*bias_, bias_->bytes(), *small.bias_, small.bias_->bytes());
  device_.write_step(step_->data(), context(), device_.compute_stream());
  device_.compute_stream().synchronize();
}

void LayerCase::forward() {
  forward_->run(context());
}

void LayerCase::backward(bool input_gradient) {
  (input_gradient ? backward_ : backward_of_parameters_)->run(context());
}

LayerResults LayerCase::results() {
  Stream& stream = device_.compute_stream();
  const auto floats = [&](const Buffer& buffer) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    copy(values.data(), buffer.data(), buffer.bytes());
    stream.synchronize();
    return values;
  };
  LayerResults results;
  results.y = device_.read(plan_->facts().output, y_->data(), stream);
  if (dx_ != nullptr) results.dx = device_.read(x_.spec, dx_->data(), stream);
  results.dweights = floats(*dweights_);
  if (layer_.has_bias()) results.dbias = floats(*dbias_);
  return results;
}

double LayerCase::time(const std::function<void()>& pass, double seconds) {
  constexpr int kRounds = 2, kMostRuns = 1000;
  Stream& stream = device_.compute_stream();
  const auto time_runs = [&](int runs) {
    const Stopwatch stopwatch;
    for (int run = 0; run < runs; ++run) pass();
    stream.synchronize();
    return stopwatch.seconds() / runs;
  };
  time_runs(1);
  double least = time_runs(1);
  const int runs = std::clamp(static_cast<int>(seconds / least), 1, kMostRuns);
  for (int round = 0; round < kRounds; ++round) least = std::min(least, time_runs(runs));
  return least;
}

double LayerCase::bytes() const {
  const ValueSpec& y = plan_->facts().output;
  const double element = static_cast<double>(y.element_bytes()) / static_cast<double>(y.shape.count());
  return static_cast<double>(x_.spec.element_bytes() + y.element_bytes()) +
         static_cast<double>(layer_.weights()) * element;
}

}  // namespace trireme
