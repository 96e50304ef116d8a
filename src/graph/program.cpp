// SPDX-License-Identifier: Apache-2.0
// Binding a plan to memory, and the two passes. Everything is allocated here, nothing in the passes.
#include "src/graph/program.h"

#include <algorithm>

#include "src/core/error.h"
#include "src/graph/program_impl.h"

namespace trireme {

Program::Impl::Impl(ProgramPlan program_plan, const FlatLayout& flat_layout, const ModelMemory& model_memory,
                    std::uint64_t dropout_seed, GroupSum* group_sum, const ProgramRecording& recording)
    : owned_plan(std::move(program_plan)),
      device(*plan().device),
      layout(flat_layout),
      memory(model_memory),
      seed(dropout_seed),
      group(group_sum),
      stream(device.compute_stream()),
      record(device.allocate(sizeof(StepRecord))),
      group_sums(device.allocate(plan().group_sum_bytes())),
      step(device.allocate(device.step_bytes())),
      host_record(device.host_memory().allocate(sizeof(StepRecord))),
      record_copied(device.make_event()),
      records(recording.wanted),
      is_shared(plan().graph.parameters().size()) {
  const bool training = plan().mode == Mode::train;
  TRIREME_ASSERT(layout.entries.size() == plan().graph.parameters().size(),
                 "layout and plan are of one graph");
  TRIREME_ASSERT(memory.parameters != nullptr && memory.parameters->bytes() >= layout.bytes(),
                 "the parameter buffer holds the layout");
  TRIREME_ASSERT(!training || (memory.gradients != nullptr && memory.gradients->bytes() >= layout.bytes()),
                 "the gradient buffer holds the layout");
  TRIREME_ASSERT(
      plan().arena_bytes == 0 || (memory.arena != nullptr && memory.arena->bytes() >= plan().arena_bytes),
      "the arena holds the plan");
  bind_input_slots();
  find_shared_parameters();
  bind_forward();
  if (training) bind_backward();
  cut_into_segments(recording.gradient_stops);
}

void* Program::Impl::at(BlockId block) {
  if (block == kNoBlock) return nullptr;
  return static_cast<std::byte*>(memory.arena->data()) + plan().block(block).offset;
}

float* Program::Impl::parameter(ParamId p) {
  return static_cast<float*>(memory.parameters->data()) + layout.entry(p).offset;
}

float* Program::Impl::gradient(ParamId p) {
  return static_cast<float*>(memory.gradients->data()) + layout.entry(p).offset;
}

void Program::Impl::bind_input_slots() {
  const auto batch = static_cast<std::size_t>(plan().batch);
  for (InputSlot& slot : slots) {
    slot.images = device.allocate(plan().slot_image_bytes());
    slot.labels = device.allocate(batch * sizeof(std::int32_t));
    slot.sample_ids = device.allocate(batch * sizeof(std::int64_t));
    slot.loaded = device.make_event();
    slot.released = device.make_event();
  }
}

// A node's backward writes all its parameter gradients, or adds to all. Where a parameter is shared the
// second node must add, so all parameters of the nodes that share it start at zero and are added to.
void Program::Impl::find_shared_parameters() {
  std::vector<int> uses(is_shared.size());
  for (const Node& node : plan().graph.nodes())
    for (ParamId p : node.parameters)
      is_shared[static_cast<std::size_t>(p)] = ++uses[static_cast<std::size_t>(p)] > 1;
  for (const Node& node : plan().graph.nodes()) {
    const bool shares = std::any_of(node.parameters.begin(), node.parameters.end(),
                                    [&](ParamId p) { return is_shared[static_cast<std::size_t>(p)]; });
    if (shares) zero_first.insert(zero_first.end(), node.parameters.begin(), node.parameters.end());
  }
}

Bindings Program::Impl::bind(NodeId id) {
  const Node& node = plan().graph.node(id);
  Bindings bindings;
  for (ValueId input : node.inputs) bindings.inputs.push_back(at(plan().producer(input).output));
  bindings.output = at(plan().node(id).output);
  bindings.saved = at(plan().node(id).saved);
  for (ParamId p : node.parameters) bindings.parameters.push_back(parameter(p));
  bindings.record = static_cast<StepRecord*>(record->data());
  bindings.group_sums = static_cast<double*>(group_sums->data());
  bindings.step = step->data();
  return bindings;
}

namespace {

OpSums make_sums(const Node& node, const OpFacts& facts, std::int64_t count, std::string_view pass) {
  if (count == 0) return {};
  return {std::vector<double>(static_cast<std::size_t>(count)),
          fmt::format("{} of {}, {}", facts.group_sums.what, node.name, pass)};
}

}  // namespace

void Program::Impl::bind_forward() {
  std::vector<bool> seen(is_shared.size());
  for (NodeId n = 0; n < plan().forward_steps(); ++n) {
    ForwardOp forward;
    Bindings bindings = bind(n);
    bindings.scratch = at(plan().node(n).scratch);
    forward.op = plan().node(n).op->make_forward(bindings);
    const OpFacts& facts = plan().node(n).facts();
    forward.sums = make_sums(plan().graph.node(n), facts, facts.group_sums.forward, "forward");
    for (ParamId p : plan().graph.node(n).parameters) {
      if (!seen[static_cast<std::size_t>(p)]) forward.needed_first.push_back(p);
      seen[static_cast<std::size_t>(p)] = true;
    }
    forward_ops.push_back(std::move(forward));
  }
}

void Program::Impl::bind_backward() {
  std::vector<NodeId> node_of;
  for (const BackwardStep& pass_step : plan().backward) {
    BackwardOp backward;
    if (const auto* sum = std::get_if<GradientSum>(&pass_step)) {
      Bindings bindings;
      bindings.inputs = {at(sum->a), at(sum->b)};
      bindings.output = at(sum->sum);
      bindings.scratch = at(sum->scratch);
      bindings.step = step->data();
      backward.op = sum->op->make_forward(bindings);
      node_of.push_back(-1);
    } else {
      const auto& pass = std::get<NodeBackward>(pass_step);
      const OpFacts& facts = plan().node(pass.node).facts();
      Bindings bindings = bind(pass.node);
      // Memory that the op does not ask for may hold something else by now.
      if (!facts.backward_needs_inputs) std::fill(bindings.inputs.begin(), bindings.inputs.end(), nullptr);
      if (!facts.backward_needs_output) bindings.output = nullptr;
      bindings.scratch = at(pass.scratch);
      bindings.output_grad = at(pass.output_grad);
      bindings.input_grad_addend = at(pass.addend);
      for (BlockId block : pass.input_grads) bindings.input_grads.push_back(at(block));
      for (ParamId p : plan().graph.node(pass.node).parameters) {
        bindings.parameter_grads.push_back(gradient(p));
        backward.always_accumulates |= is_shared[static_cast<std::size_t>(p)];
      }
      backward.op = plan().node(pass.node).op->make_backward(bindings);
      backward.sums = make_sums(plan().graph.node(pass.node), facts, facts.group_sums.backward, "backward");
      node_of.push_back(pass.node);
    }
    backward_ops.push_back(std::move(backward));
  }
  order_ready(node_of);
}

void Program::Impl::order_ready(const std::vector<NodeId>& node_of) {
  std::vector<int> uses_left(is_shared.size());
  for (const Node& node : plan().graph.nodes())
    for (ParamId p : node.parameters) ++uses_left[static_cast<std::size_t>(p)];
  std::size_t next = 0;
  for (std::size_t i = 0; i < backward_ops.size(); ++i) {
    if (node_of[i] < 0) continue;
    for (ParamId p : plan().graph.node(node_of[i]).parameters) --uses_left[static_cast<std::size_t>(p)];
    for (; next < layout.entries.size(); ++next) {
      const ParamId p = layout.entries[next].parameter;
      if (uses_left[static_cast<std::size_t>(p)] > 0) break;
      backward_ops[i].ready.push_back(p);
    }
  }
  TRIREME_ASSERT(next == layout.entries.size(), "every parameter's gradient becomes ready");
}

RunContext Program::Impl::context(const StepScales& scales) {
  const InputSlot& slot = current_slot();
  RunContext context;
  context.images = slot.images->data();
  context.labels = static_cast<const std::int32_t*>(slot.labels->data());
  context.sample_ids = static_cast<const std::int64_t*>(slot.sample_ids->data());
  context.valid_samples = slot.valid;
  const auto global = static_cast<double>(scales.global_samples);
  context.gradient_scale = static_cast<float>(1.0 / global);
  context.share_weight = static_cast<float>(static_cast<double>(slot.valid) / global);
  context.accumulate = scales.accumulate;
  context.seed = seed;
  context.epoch = scales.epoch;
  return context;
}

Program::Program(ProgramPlan plan, const FlatLayout& layout, const ModelMemory& memory, std::uint64_t seed,
                 GroupSum* group, const ProgramRecording& recording)
    : impl_(std::make_unique<Impl>(std::move(plan), layout, memory, seed, group, recording)) {}
Program::~Program() = default;

std::int64_t Program::batch() const {
  return impl_->plan().batch;
}

const std::string& Program::recording_obstacle() const {
  return impl_->recording_obstacle;
}

void Program::forward(const StepScales& scales, const ParamHook& parameter_needed) {
  Impl& p = *impl_;
  TRIREME_ASSERT(p.batches_loaded > 0, "a batch was loaded");
  TRIREME_ASSERT(scales.global_samples > 0, "a step has samples");
  if (p.batches_taken < p.batches_loaded) ++p.batches_taken;
  InputSlot& slot = p.current_slot();
  p.stream.wait(*slot.loaded);
  const RunContext context = p.context(scales);
  p.device.write_step(p.step->data(), context, p.stream);
  for (Segment& segment : p.forward_segments) {
    if (parameter_needed)
      for (std::size_t i = segment.begin; i < segment.end; ++i)
        for (ParamId parameter : p.forward_ops[i].needed_first) parameter_needed(parameter);
    const auto ops = [&] {
      for (std::size_t i = segment.begin; i < segment.end; ++i) p.run_forward(i, context);
    };
    p.run(segment, context, std::cref(ops));
  }
  p.copy_record_to_host();
  p.stream.record(*slot.released);
  slot.was_released = true;
}

void Program::backward(const StepScales& scales, const ParamHook& gradient_ready) {
  Impl& p = *impl_;
  TRIREME_ASSERT(p.plan().mode == Mode::train && p.batches_taken > 0,
                 "backward follows forward of a train program");
  InputSlot& slot = p.current_slot();
  const bool empty = slot.valid == 0;
  if (!scales.accumulate && empty) p.device.zero(p.memory.gradients->data(), p.layout.bytes(), p.stream);
  if (!scales.accumulate && !empty)
    for (ParamId shared : p.zero_first)
      p.device.zero(p.gradient(shared), p.layout.entry(shared).count * sizeof(float), p.stream);
  const RunContext context = p.context(scales);
  for (Segment& segment : p.backward_segments) {
    const auto ops = [&] {
      for (std::size_t i = segment.begin; i < segment.end; ++i) p.run_backward(i, context);
    };
    p.run(segment, context, std::cref(ops));
    if (!scales.last_micro_batch || !gradient_ready) continue;
    for (std::size_t i = segment.begin; i < segment.end; ++i)
      for (ParamId parameter : p.backward_ops[i].ready) gradient_ready(parameter);
  }
  p.stream.record(*slot.released);
}

}  // namespace trireme
