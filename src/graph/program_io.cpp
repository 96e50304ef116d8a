// SPDX-License-Identifier: Apache-2.0
// What goes into a program and comes out of it: batches, the step record, logits, and the search for what is
// not finite.
#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/graph/program_impl.h"

namespace trireme {

// The batch that runs next goes into the slot that the current one does not use, so at most one may wait
// there.
void Program::load(const HostBatch& batch, Stream& stream, Event& done) {
  Impl& p = *impl_;
  const std::int64_t rows = p.plan().batch;
  TRIREME_ASSERT(batch.images.dtype == p.plan().input.dtype &&
                     batch.images.shape == p.plan().stored_image().with_outer(rows),
                 "the batch has the program's shape");
  TRIREME_ASSERT(batch.valid >= 0 && batch.valid <= rows, "valid rows are rows of the batch");
  TRIREME_ASSERT(p.batches_loaded == p.batches_taken, "no loaded batch is waiting for forward");
  InputSlot& slot = p.slots[p.batches_loaded % 2];
  ++p.batches_loaded;
  slot.valid = batch.valid;
  if (slot.was_released) stream.wait(*slot.released);
  Tensor images = batch.images;
  images.data = slot.images->data();
  p.device.copy(images, batch.images, stream);
  p.device.copy(row_of(static_cast<std::int32_t*>(slot.labels->data()), rows),
                row_of(const_cast<std::int32_t*>(batch.labels), rows), stream);
  p.device.copy(row_of(static_cast<std::int64_t*>(slot.sample_ids->data()), rows),
                row_of(const_cast<std::int64_t*>(batch.sample_ids), rows), stream);
  stream.record(*slot.loaded);
  stream.record(done);
}

namespace {

Tensor bytes_of(void* data, std::size_t bytes) {
  return row_of(static_cast<unsigned char*>(data), static_cast<std::int64_t>(bytes));
}

}  // namespace

StepRecord Program::Impl::copy_record() {
  StepRecord result;
  device.copy(bytes_of(&result, sizeof(result)), bytes_of(record->data(), sizeof(result)), stream);
  stream.synchronize();
  return result;
}

void Program::Impl::copy_record_to_host() {
  device.copy(bytes_of(host_record->data(), sizeof(StepRecord)), bytes_of(record->data(), sizeof(StepRecord)),
              stream);
  stream.record(*record_copied);
}

StepRecord Program::read_record() {
  impl_->record_copied->synchronize();
  return *static_cast<const StepRecord*>(impl_->host_record->data());
}

void Program::zero_record() {
  impl_->device.zero(impl_->record->data(), sizeof(StepRecord), impl_->stream);
  impl_->copy_record_to_host();
}

std::vector<float> Program::read_logits() {
  Impl& p = *impl_;
  const PlannedNode& planned = p.plan().producer(p.plan().logits());
  return p.device.read(planned.facts().output, p.at(planned.output), p.stream);
}

bool Program::Impl::is_finite(const ValueSpec& spec, const void* data) {
  const std::vector<float> host = device.read(spec, data, stream);
  return std::all_of(host.begin(), host.end(), [](float value) { return std::isfinite(value); });
}

std::optional<std::string> Program::find_non_finite(const StepScales& scales) {
  Impl& p = *impl_;
  TRIREME_ASSERT(p.batches_taken > 0, "forward has run");
  if (p.current_slot().valid > 0) {
    StepRecord before = p.copy_record();
    const RunContext context = p.context(scales);
    std::optional<std::string> found;
    for (NodeId n = 0; n < p.plan().forward_steps() && !found; ++n) {
      p.run_alone(p.forward_ops[static_cast<std::size_t>(n)], context);
      const PlannedNode& planned = p.plan().node(n);
      if (p.is_finite(planned.facts().output, p.at(planned.output))) continue;
      const Node& node = p.plan().graph.node(n);
      found = fmt::format("the output of {} ({})", node.name, op_name(node.op));
    }
    p.device.copy(bytes_of(p.record->data(), sizeof(before)), bytes_of(&before, sizeof(before)), p.stream);
    p.stream.synchronize();
    if (found) return found;
  }
  for (const FlatLayout::Entry& entry : p.layout.entries) {
    const std::string& name = p.plan().graph.parameter(entry.parameter).name;
    const ValueSpec row{Shape{static_cast<std::int64_t>(entry.count)}, DType::f32, nullptr,
                        entry.count * sizeof(float)};
    if (!p.is_finite(row, p.parameter(entry.parameter))) return fmt::format("the value of {}", name);
    if (p.plan().mode == Mode::train && !p.is_finite(row, p.gradient(entry.parameter)))
      return fmt::format("the gradient of {}", name);
  }
  return std::nullopt;
}

}  // namespace trireme
