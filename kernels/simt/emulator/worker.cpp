// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/worker.h"

#include <algorithm>

#include "kernels/simt/emulated_threads.h"
#include "kernels/simt/emulator/sanitizer.h"

namespace trireme::simt::emulator {
namespace {

constexpr std::size_t kWatchedStacks = 1024;
constexpr unsigned kSwitchWithOrder = 0, kSwitchWithoutOrder = 1;

thread_local Worker* current_worker = nullptr;

uint3 index_of(int thread, dim3 block) {
  const auto flat = static_cast<unsigned>(thread);
  return {flat % block.x, flat / block.x % block.y, flat / (block.x * block.y)};
}

}  // namespace

Worker& Worker::current() {
  return *current_worker;
}

bool Worker::is_running() {
  return current_worker != nullptr && current_worker->running_ >= 0;
}

Worker::Worker() {
  waiting_at_.resize(kMaxThreads, Site{"", 0});
}

Worker::~Worker() {
  for (void* identity : identities_) __tsan_destroy_fiber(identity);
}

// One after another blocks run on the same stacks. For a sanitizer the same stack is the same thread, whose
// accesses in two blocks are no race: then blocks go round among several sets of stacks.
void Worker::prepare_threads(int count) {
  const auto wanted = static_cast<std::size_t>(count);
  first_stack_ = watches_order() ? first_stack_ + wanted : 0;
  if (first_stack_ + wanted > std::max(kWatchedStacks, 2 * wanted)) first_stack_ = 0;
  while (stacks_.size() < first_stack_ + wanted) {
    stacks_.emplace_back(static_cast<int>(stacks_.size()));
    if (watches_order()) identities_.push_back(__tsan_create_fiber(0));
  }
  if (static_cast<int>(fibers_.size()) < count) {
    fibers_.resize(static_cast<std::size_t>(count));
    async_ = std::make_unique_for_overwrite<AsyncCopies[]>(static_cast<std::size_t>(count));
  }
  for (int i = 0; i < count; ++i) {
    const std::size_t place = first_stack_ + static_cast<std::size_t>(i);
    const FiberStack& stack = stacks_[place];
    fibers_[static_cast<std::size_t>(i)] = {
        boost::context::detail::make_fcontext(stack.top(), stack.size(), &Worker::enter), nullptr,
        watches_order() ? identities_[place] : nullptr, stack.bottom(), stack.size()};
    async_[static_cast<std::size_t>(i)].start_block();
  }
}

void Worker::start_block(const GridShape& shape, uint3 block) {
  shape_ = shape;
  block_ = block;
  ++block_number_;
  threads_ = live_ = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  prepare_threads(threads_);
  memory_.start_block(shape.shared_bytes);
  ready_.clear();
  for (Barrier& barrier : barriers_) barrier = Barrier{};
  for (int warp = 0; warp < kMaxWarps; ++warp) {
    const int lanes = std::clamp(threads_ - 32 * warp, 0, 32);
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << lanes) - 1);
    Warp& state = warps_[static_cast<std::size_t>(warp)];
    state.exited = ~mask;  // threads that the block does not have take part in nothing
    state.pending_count = 0;
    ready_.add(warp, mask);
  }
  error_[0] = '\0';
  blockIdx = block;
  blockDim = shape.block;
  gridDim = shape.grid;
  const Settings& now = settings();
  const std::uint64_t flat =
      block.x + std::uint64_t{shape.grid.x} * (block.y + std::uint64_t{shape.grid.y} * block.z);
  random_ = (now.seed + 1) * 0x9E3779B97F4A7C15ULL + flat + 1;
}

std::string Worker::run_block(const GridShape& shape, uint3 block, const std::function<void()>& thread) {
  current_worker = this;
  thread_ = &thread;
  start_block(shape, block);
  running_ = -1;
  if (watches_order()) main_.identity = __tsan_get_current_fiber();
  switch_to(ready_.first(settings().order, random_));
  current_worker = nullptr;
  if (error_[0] == '\0') return {};
  // Fibers were left where they stood: what their frames forbade is stack again.
  for (int i = 0; i < threads_; ++i) {
    const FiberStack& stack = stacks_[first_stack_ + static_cast<std::size_t>(i)];
    allow(stack.bottom(), stack.size());
    if (!watches_order()) continue;
    // What they did comes before what the host does next, as if they had ended.
    __tsan_switch_to_fiber(fiber(i).identity, kSwitchWithOrder);
    __tsan_switch_to_fiber(main_.identity, kSwitchWithOrder);
  }
  return error_.data();
}

// A context is where its owner will go on: it is known only to the one it jumped to, who keeps it for him.
void Worker::arrived_from(boost::context::detail::fcontext_t context) {
  Fiber& before = fiber(previous_);
  before.context = context;
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  if (previous_ < 0)
    __sanitizer_finish_switch_fiber(fiber(running_).fake_stack, &before.stack_bottom, &before.stack_size);
  else
    __sanitizer_finish_switch_fiber(fiber(running_).fake_stack, nullptr, nullptr);
}

void Worker::switch_to(int thread) {
  previous_ = running_;
  running_ = thread;
  Fiber& target = fiber(thread);
  if (thread >= 0) {
    ready_.remove(thread);
    threadIdx = index_of(thread, shape_.block);
  }
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(&fiber(previous_).fake_stack, target.stack_bottom, target.stack_size);
  if (watches_order()) __tsan_switch_to_fiber(target.identity, kSwitchWithoutOrder);
  arrived_from(boost::context::detail::jump_fcontext(target.context, this).fctx);
}

void Worker::enter(boost::context::detail::transfer_t from) {
  auto* self = static_cast<Worker*>(from.data);
  self->arrived_from(from.fctx);
  order_after(order_of_begin(*self->thread_));
  (*self->thread_)();
  self->exit_thread();
}

void Worker::exit_thread() {
  if (!async_copies().empty())
    emulator::fail({"", 0}, "exits with asynchronous copies that were not waited for");
  order_before(order_of_end(*thread_));
  warps_[static_cast<std::size_t>(running_ / 32)].exited |= 1U << (running_ % 32);
  --live_;
  wait();
}

void Worker::go_on_with(int thread) {
  if (thread == running_)
    ready_.remove(thread);
  else
    switch_to(thread);
}

void Worker::wait() {
  if (!ready_.empty()) {
    go_on_with(ready_.next(settings().order, running_, random_));
    return;
  }
  if (live_ > 0) {
    const std::string report = deadlock();
    report.copy(error_.data(), error_.size() - 1);
    error_[std::min(report.size(), error_.size() - 1)] = '\0';
  }
  switch_to(-1);
}

}  // namespace trireme::simt::emulator
