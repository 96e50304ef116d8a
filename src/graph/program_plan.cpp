// SPDX-License-Identifier: Apache-2.0
#include "src/graph/program_plan.h"

#include <algorithm>

#include "src/core/error.h"
#include "src/graph/fusion.h"

namespace trireme {

std::string layout_text(const ValueSpec& spec) {
  return spec.layout ? spec.layout->text() : "dense";
}

bool same_form(const ValueSpec& a, const ValueSpec& b) {
  return a.element_bytes() == b.element_bytes() && a.dtype == b.dtype && a.shape == b.shape &&
         layout_text(a) == layout_text(b);
}

std::size_t ProgramPlan::Impl::group_sum_bytes() const {
  std::int64_t most = 0;
  for (const PlannedNode& planned : nodes)
    most = std::max({most, planned.facts().group_sums.forward, planned.facts().group_sums.backward});
  return static_cast<std::size_t>(most) * sizeof(double);
}

BlockId ProgramPlan::Impl::add_block(Block::Kind kind, NodeId node_id, std::size_t bytes, int step) {
  if (bytes == 0) return kNoBlock;
  blocks.push_back({kind, node_id, {bytes, step, step}, 0});
  return static_cast<BlockId>(blocks.size()) - 1;
}

void ProgramPlan::Impl::touch(BlockId id, int step) {
  if (id == kNoBlock) return;
  MemoryInterval& use = block(id).use;
  use.first = std::min(use.first, step);
  use.last = std::max(use.last, step);
}

namespace {

// Batch statistics of a single value per channel have no variance. Where they are of all ranks together, this
// rank's batch may have one value.
void check_batch_norm(const Node& node, const Shape& sample, std::int64_t batch) {
  const auto* norm = std::get_if<BatchNormOp>(&node.op);
  if (norm != nullptr && !norm->sync && batch * sample[0] * sample[1] == 1)
    throw make_error(Status::configuration, "batch_norm '{}' would see one value per channel in training",
                     node.name)
        .at(fmt::format("batch {} of {}", batch, sample.text()))
        .hint("give every rank at least two samples, or use larger pictures");
}

bool needs_backward(const ProgramPlan::Impl& plan, const Node& node) {
  return !node.parameters.empty() || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return plan.producer(input).has_backward;
  });
}

/// Whether a batch norm of batch statistics is all that reads the node's output.
bool feeds_batch_norm(const Graph& graph, const Node& node) {
  int consumers = 0, batch_norms = 0;
  for (const Node& other : graph.nodes())
    for (std::size_t k = 0; k < other.inputs.size(); ++k) {
      if (other.inputs[k] != node.output) continue;
      ++consumers;
      if (k == 0 && std::holds_alternative<BatchNormOp>(other.op)) ++batch_norms;
    }
  return consumers == 1 && batch_norms == 1;
}

/// Whether convolutions are all that reads the node's output.
bool feeds_convolutions(const Graph& graph, const Node& node) {
  return std::none_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& other) {
    return std::count(other.inputs.begin(), other.inputs.end(), node.output) > 0 &&
           !std::holds_alternative<Conv2dOp>(other.op);
  });
}

}  // namespace

void plan_ops(ProgramPlan::Impl& plan) {
  const bool training = plan.mode == Mode::train;
  for (const Node& node : plan.graph.nodes()) {
    const Shape& sample = plan.graph.value(node.output).shape;
    if (training) check_batch_norm(node, sample, plan.batch);
    OpRequest request{node.op, {}, sample.with_outer(plan.batch), training};
    request.feeds_batch_norm = training && feeds_batch_norm(plan.graph, node);
    request.feeds_convolutions = feeds_convolutions(plan.graph, node);
    request.input_format = plan.input;
    request.name = node.name;
    for (ValueId input : node.inputs) request.inputs.push_back(plan.spec(input));
    PlannedNode planned;
    planned.op = plan.device->plan_op(request);
    planned.has_backward = training && needs_backward(plan, node);
    plan.nodes.push_back(std::move(planned));
  }
}

namespace {

// Who still needs a value after the node that could overwrite it has run.
class InPlaceRule {
 public:
  explicit InPlaceRule(const ProgramPlan::Impl& plan)
      : plan_(plan), last_consumer_(plan.graph.values().size()), kept_(plan.graph.values().size()) {
    for (NodeId n = 0; n < plan.forward_steps(); ++n) {
      const Node& node = plan.graph.node(n);
      const PlannedNode& planned = plan.node(n);
      for (ValueId input : node.inputs) {
        last_consumer_[static_cast<std::size_t>(input)] = n;
        if (planned.has_backward && planned.facts().backward_needs_inputs) keep(input);
      }
      if (planned.has_backward && planned.facts().backward_needs_output) keep(node.output);
    }
    keep(plan.logits());  // read after the step
  }

  bool may_overwrite_input(NodeId n) const {
    const Node& node = plan_.graph.node(n);
    const OpFacts& facts = plan_.node(n).facts();
    if (!facts.output_may_overwrite_input || node.inputs.empty()) return false;
    const ValueId input = node.inputs[0];
    return !kept_[static_cast<std::size_t>(input)] && last_consumer_[static_cast<std::size_t>(input)] == n &&
           std::count(node.inputs.begin(), node.inputs.end(), input) == 1 &&
           plan_.spec(input).bytes == facts.output.bytes;
  }

 private:
  void keep(ValueId value) { kept_[static_cast<std::size_t>(value)] = true; }

  const ProgramPlan::Impl& plan_;
  std::vector<NodeId> last_consumer_;
  std::vector<bool> kept_;
};

}  // namespace

void plan_forward(ProgramPlan::Impl& plan) {
  const InPlaceRule rule(plan);
  for (NodeId n = 0; n < plan.forward_steps(); ++n) {
    const Node& node = plan.graph.node(n);
    PlannedNode& planned = plan.node(n);
    const OpFacts& facts = planned.facts();
    for (ValueId input : node.inputs) plan.touch(plan.producer(input).output, n);
    planned.output = rule.may_overwrite_input(n)
                         ? plan.producer(node.inputs[0]).output
                         : plan.add_block(Block::Kind::output, n, facts.output.bytes, n);
    planned.saved = plan.add_block(Block::Kind::saved, n, facts.saved_bytes, n);
    planned.scratch = plan.add_block(Block::Kind::scratch, n, facts.forward_scratch_bytes, n);
  }
}

ProgramPlan::ProgramPlan(const Graph& graph, Device& device, std::int64_t batch, Mode mode,
                         const InputFormat& input)
    : impl_(std::make_unique<Impl>()) {
  graph.check_complete();
  if (batch <= 0) throw make_error(Status::configuration, "a program cannot have a batch of {}", batch);
  impl_->graph = fuse(graph, device.fusions());
  impl_->device = &device;
  impl_->batch = batch;
  impl_->mode = mode;
  impl_->input = input;
  TRIREME_ASSERT(input.dtype == DType::f32 || (input.dtype == DType::u8 && device.takes_levels()),
                 "the device takes pictures of this kind");
  plan_ops(*impl_);
  plan_forward(*impl_);
  if (mode == Mode::train) plan_backward(*impl_);
  impl_->touch(impl_->producer(impl_->logits()).output, impl_->steps());

  std::vector<MemoryInterval> uses;
  for (const Block& block : impl_->blocks) uses.push_back(block.use);
  const MemoryPlan memory = plan_memory(uses);
  for (std::size_t i = 0; i < uses.size(); ++i) impl_->blocks[i].offset = memory.offsets[i];
  impl_->arena_bytes = memory.bytes;
}

ProgramPlan::~ProgramPlan() = default;
ProgramPlan::ProgramPlan(ProgramPlan&&) noexcept = default;
ProgramPlan& ProgramPlan::operator=(ProgramPlan&&) noexcept = default;

std::size_t ProgramPlan::arena_bytes() const {
  return impl_->arena_bytes;
}
std::size_t ProgramPlan::slot_bytes() const {
  return 2 * impl_->slot_image_bytes();
}
std::int64_t ProgramPlan::batch() const {
  return impl_->batch;
}
Mode ProgramPlan::mode() const {
  return impl_->mode;
}

}  // namespace trireme
