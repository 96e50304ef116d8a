// SPDX-License-Identifier: Apache-2.0
// A step of this rank: backward announces entries in layout order; a bucket leaves when its last entry is
// ready. finish_step waits for the buckets in plan order. If something needs the whole gradient (NaN guard,
// clipping), the parameters are stepped after the last bucket, else each bucket is stepped while later ones
// are still on the wire.
#include "src/exchange/allreduce_exchange.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "src/core/deadline.h"
#include "src/core/error.h"
#include "src/exchange/narrow_wire.h"

namespace trireme {

struct AllReduceExchange::Impl {
  const Graph& graph;
  const FlatLayout& layout;
  const BucketPlan plan;
  Communicator& communicator;
  Optimizer& optimizer;
  float* const parameters;
  float* const gradients;
  Stream& stream;
  const AllReduceExchangeOptions options;
  HostMemory host_memory;
  std::unique_ptr<WirePacker> host_packer;
  std::unique_ptr<NarrowWire> narrow_wire;  // null on an fp32 wire
  std::vector<Ticket> tickets;              // of the step's buckets on an fp32 wire, in plan order
  std::size_t sent_buckets = 0;             // of the step
  std::size_t ready_entries = 0;            // of the step
  double wait_seconds = 0;

  void send_complete_buckets();
  void send(std::size_t bucket);
  void receive(std::size_t bucket);
  void step(ElementRange range, double learning_rate, double gradient_factor);
  void finish_with_whole_gradient(double learning_rate);
  void end_step() {
    tickets.clear();
    sent_buckets = 0;
    ready_entries = 0;
  }
};

void AllReduceExchange::Impl::send_complete_buckets() {
  while (sent_buckets < plan.buckets.size() && plan.buckets[sent_buckets].last_entry < ready_entries)
    send(sent_buckets++);
}

void AllReduceExchange::Impl::send(std::size_t bucket) {
  if (narrow_wire) return narrow_wire->send(bucket, stream);
  const auto& [range, last_entry, label] = plan.buckets[bucket];
  const Tensor values = row_of(gradients + range.begin, static_cast<std::int64_t>(range.size()));
  tickets.push_back(communicator.allreduce(values, stream, label));
}

void AllReduceExchange::Impl::receive(std::size_t bucket) {
  const Stopwatch blocked;
  if (narrow_wire)
    narrow_wire->wait(bucket, stream);
  else
    communicator.wait(tickets[bucket], stream);
  wait_seconds += blocked.seconds();
  if (narrow_wire) narrow_wire->unpack(bucket, stream);
}

void AllReduceExchange::Impl::step(ElementRange range, double learning_rate, double gradient_factor) {
  optimizer.step(range, parameters, gradients, learning_rate, gradient_factor);
}

void AllReduceExchange::Impl::finish_with_whole_gradient(double learning_rate) {
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    receive(b);
    if (options.checks_finite()) optimizer.inspect(plan.buckets[b].range, gradients);
  }
  if (!options.checks_finite())
    return optimizer.step_clipped(parameters, gradients, learning_rate, options.clip_norm);
  if (optimizer.step_if_finite(parameters, gradients, learning_rate, options.clip_norm)) return;
  if (options.skips_overflows) return;
  end_step();
  throw NonFiniteGradient{};
}

AllReduceExchange::AllReduceExchange(const Graph& graph, const FlatLayout& layout, BucketPlan plan,
                                     Communicator& communicator, Optimizer& optimizer, float* parameters,
                                     float* gradients, Stream& stream,
                                     const AllReduceExchangeOptions& options)
    : impl_(new Impl{graph,
                     layout,
                     std::move(plan),
                     communicator,
                     optimizer,
                     parameters,
                     gradients,
                     stream,
                     options,
                     {},
                     {},
                     {},
                     {}}) {
  if (options.wire != DType::f32) {
    if (!options.wire_memory) impl_->host_packer = make_host_wire_packer(options.wire);
    const WireMemory memory =
        options.wire_memory.value_or(WireMemory{impl_->host_packer.get(), &impl_->host_memory});
    impl_->narrow_wire = std::make_unique<NarrowWire>(graph, layout, impl_->plan, options.wire, communicator,
                                                      gradients, memory);
  }
  impl_->tickets.reserve(impl_->plan.buckets.size());
}

AllReduceExchange::~AllReduceExchange() {
  drain(impl_->communicator, impl_->tickets);
}

void AllReduceExchange::parameter_needed(ParamId /*parameter*/) {
  // finish_step has completed the update.
}

void AllReduceExchange::gradient_ready(ParamId parameter) {
  TRIREME_ASSERT(impl_->ready_entries < impl_->layout.entries.size() &&
                     impl_->layout.entries[impl_->ready_entries].parameter == parameter,
                 "gradients become ready in the order of the layout, once per step");
  ++impl_->ready_entries;
  impl_->send_complete_buckets();
}

void AllReduceExchange::finish_step(double learning_rate) {
  Impl& impl = *impl_;
  TRIREME_ASSERT(impl.sent_buckets == impl.plan.buckets.size(),
                 "a step ends after all its gradients are ready");
  if (impl.options.checks_finite() || impl.options.clip_norm > 0) {
    impl.finish_with_whole_gradient(learning_rate);
  } else {
    for (std::size_t b = 0; b < impl.plan.buckets.size(); ++b) {
      impl.receive(b);
      impl.step(impl.plan.buckets[b].range, learning_rate, 1);
    }
  }
  impl.end_step();
}

void AllReduceExchange::settle() {
  TRIREME_ASSERT(impl_->ready_entries == 0, "a step is finished before its update is settled");
}

double AllReduceExchange::measure_alone() {
  Impl& impl = *impl_;
  if (impl.communicator.size() == 1 || !impl.communicator.blocks_host()) return 0;
  const double waited_before = impl.wait_seconds;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 2; ++round) {  // the first makes connections and touches memory
    const Stopwatch clock;
    for (std::size_t b = 0; b < impl.plan.buckets.size(); ++b) impl.send(b);
    for (std::size_t b = 0; b < impl.plan.buckets.size(); ++b) impl.receive(b);
    impl.stream.synchronize();
    best = std::min(best, clock.seconds());
    impl.end_step();
  }
  impl.wait_seconds = waited_before;
  return best;
}

double AllReduceExchange::wait_seconds() const {
  return impl_->wait_seconds;
}

std::span<float> AllReduceExchange::residual() {
  return impl_->narrow_wire ? impl_->narrow_wire->residual() : std::span<float>();
}

}  // namespace trireme
