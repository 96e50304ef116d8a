// SPDX-License-Identifier: Apache-2.0
// How the passes of a program run: op by op, or in recorded segments. A segment ends where the host must act:
// around an op that sums over all ranks, and in backward where a bucket of gradients is complete. What
// changes from step to step is in device memory (Device::write_step); what a recording freezes besides is its
// variant, so each segment is recorded once per variant that occurs. The first run of a variant is direct.
#include <algorithm>

#include "src/core/error.h"
#include "src/graph/program_impl.h"

namespace trireme {
namespace {

/// Segments over `count` ops, where `is_alone(i)` says that op i is a segment of its own and `ends(i)` that
/// the host acts after op i.
template <typename IsAlone, typename Ends>
std::vector<Segment> cut(std::size_t count, const IsAlone& is_alone, const Ends& ends) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < count; ++i) {
    const bool alone = is_alone(i);
    const bool joins = !segments.empty() && segments.back().records && !alone && !ends(i - 1);
    if (!joins) segments.push_back({i, i, !alone});
    segments.back().end = i + 1;
  }
  return segments;
}

}  // namespace

void Program::Impl::cut_into_segments(const std::vector<ParamId>& gradient_stops) {
  const auto is_stop = [&](ParamId p) {
    return std::find(gradient_stops.begin(), gradient_stops.end(), p) != gradient_stops.end();
  };
  forward_segments = cut(
      forward_ops.size(), [&](std::size_t i) { return !records || !forward_ops[i].sums.values.empty(); },
      [](std::size_t) { return false; });
  backward_segments = cut(
      backward_ops.size(), [&](std::size_t i) { return !records || !backward_ops[i].sums.values.empty(); },
      [&](std::size_t i) { return std::ranges::any_of(backward_ops[i].ready, is_stop); });
}

void Program::Impl::run(Segment& segment, const RunContext& context, const std::function<void()>& ops) {
  if (!records || !segment.records || context.valid_samples == 0) return ops();
  Segment::Variant& variant = segment.variants.at(variant_of(context));
  if (variant.was_run && variant.recording == nullptr) {
    variant.recording = device.record(ops, recording_obstacle);
    records = variant.recording != nullptr;
  }
  variant.was_run = true;
  if (variant.recording != nullptr) return variant.recording->run();
  ops();
}

Tensor Program::Impl::device_sums(const OpSums& sums) {
  return row_of(static_cast<double*>(group_sums->data()), std::ssize(sums.values));
}

void Program::Impl::run(Op& op, OpSums& sums, const RunContext& context) {
  const bool empty = context.valid_samples == 0;
  if (!empty) op.run(context);
  if (sums.values.empty()) return;
  if (group != nullptr) {
    const Tensor host = row_of(sums.values.data(), std::ssize(sums.values));
    if (!empty) device.copy(host, device_sums(sums), stream);
    stream.synchronize();  // also what the last pass copied from the host's values
    if (empty) std::fill(sums.values.begin(), sums.values.end(), 0.0);
    group->sum(sums.values, sums.what);
    if (!empty) device.copy(device_sums(sums), host, stream);
  }
  if (!empty) op.finish(context);
}

void Program::Impl::run_forward(std::size_t op, const RunContext& context) {
  run(*forward_ops[op].op, forward_ops[op].sums, context);
}

void Program::Impl::run_backward(std::size_t op, RunContext context) {
  context.accumulate = context.accumulate || backward_ops[op].always_accumulates;
  run(*backward_ops[op].op, backward_ops[op].sums, context);
}

void Program::Impl::run_alone(ForwardOp& forward, const RunContext& context) {
  forward.op->run(context);
  OpSums& sums = forward.sums;
  if (sums.values.empty()) return;
  if (group != nullptr)
    device.copy(device_sums(sums), row_of(sums.values.data(), std::ssize(sums.values)), stream);
  forward.op->finish(context);
}

}  // namespace trireme
