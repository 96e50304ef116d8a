// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/stream.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/settings.h"

namespace trireme::simt::emulator {
namespace {

bool is_ready(const Operation& operation) {
  return std::all_of(operation.needs.begin(), operation.needs.end(),
                     [](const OperationPtr& need) { return need->is_done; });
}

/// Whether this thread is inside an operation, where CUDA may not be called.
thread_local bool is_inside = false;

KeptOperation kept_work(std::function<void()> work) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(work));
  return {[shared] {
            return [shared] {
              (*shared)();
              return true;
            };
          },
          false};
}

void collect(const OperationPtr& operation, std::set<const Operation*>& found) {
  if (operation->is_done || !found.insert(operation.get()).second) return;
  for (const OperationPtr& need : operation->needs) collect(need, found);
}

}  // namespace

Streams& Streams::instance() {
  static auto& streams = *new Streams;
  return streams;
}

Streams::Streams() {
  mode_ = settings().lazy_streams ? StreamMode::lazy : StreamMode::eager;
  random_.seed(settings().stream_seed);
}

Streams::Lock Streams::lock() {
  if (is_inside) throw std::logic_error("a host function on a stream may not call CUDA");
  return Lock(mutex_);
}

cudaStream_t Streams::create_stream(bool is_blocking, int priority) {
  const Lock held = lock();
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->is_blocking = is_blocking;
  streams_.back()->priority = priority;
  return streams_.back().get();
}

bool Streams::destroy_stream(cudaStream_t stream) {
  const Lock held = lock();
  if (stream == nullptr || resolve(stream) == nullptr) return false;
  stream->is_destroyed = true;
  std::erase_if(streams_, [](const auto& each) { return each->is_destroyed && each->queue.empty(); });
  return true;
}

cudaEvent_t Streams::create_event(bool has_timing) {
  const Lock held = lock();
  auto* event = new CUevent_st{has_timing, nullptr};
  events_.insert(event);
  return event;
}

bool Streams::destroy_event(cudaEvent_t event) {
  const Lock held = lock();
  if (events_.erase(event) == 0) return false;
  delete event;
  return true;
}

CUstream_st* Streams::resolve(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return &default_;
  for (const auto& each : streams_)
    if (each.get() == stream && !each->is_destroyed) return stream;
  return nullptr;
}

bool Streams::is_stream(cudaStream_t stream) {
  const Lock held = lock();
  return resolve(stream) != nullptr;
}

bool Streams::is_event(cudaEvent_t event) {
  const Lock held = lock();
  return events_.count(event) != 0;
}

OperationPtr Streams::push(CUstream_st* stream, const KeptOperation& kept) {
  auto operation = std::make_shared<Operation>();
  operation->attempt = kept.make();
  operation->needs_others = kept.needs_others;
  operation->needs = std::move(stream->gates);
  stream->gates.clear();
  const auto follow = [&operation](const CUstream_st& other) {
    if (other.last != nullptr && !other.last->is_done) operation->needs.push_back(other.last);
  };
  follow(*stream);
  if (stream != &default_ && stream->is_blocking) follow(default_);
  if (stream == &default_)
    for (const auto& each : streams_)
      if (each->is_blocking) follow(*each);
  stream->queue.push_back(operation);
  stream->last = operation;
  return operation;
}

OperationPtr Streams::give(Lock& held, cudaStream_t stream, const KeptOperation& kept) {
  CUstream_st* resolved = resolve(stream);
  if (resolved == nullptr) throw std::invalid_argument("the stream does not exist or was destroyed");
  if (keep(resolved, kept)) return nullptr;
  refuse_implicit_order(resolved);
  OperationPtr operation = push(resolved, kept);
  if (mode_ == StreamMode::eager) run_until(held, operation, false);
  return operation;
}

OperationPtr Streams::enqueue(cudaStream_t stream, std::function<void()> work) {
  Lock held = lock();
  return give(held, stream, kept_work(std::move(work)));
}

OperationPtr Streams::enqueue_with_others(cudaStream_t stream, MakeAttempt make) {
  Lock held = lock();
  return give(held, stream, {std::move(make), true});
}

void Streams::enqueue_kept(cudaStream_t stream, const KeptOperations& operations) {
  Lock held = lock();
  for (const KeptOperation& kept : operations) give(held, stream, kept);
}

void Streams::record(cudaEvent_t event, cudaStream_t stream) {
  OperationPtr recording = enqueue(stream, [] {});
  const Lock held = lock();
  const CUstream_st* resolved = resolve(stream);
  event->capture = recording == nullptr && resolved->capture != nullptr ? resolved->capture->id : 0;
  event->record = std::move(recording);
}

void Streams::wait_event(cudaStream_t stream, cudaEvent_t event) {
  const Lock held = lock();
  CUstream_st* resolved = resolve(stream);
  if (settings().strict_events && event->record == nullptr && event->capture == 0)
    throw StreamError(cudaErrorInvalidResourceHandle,
                      "the event was never recorded: CUDA would not wait for anything (SIMT_STRICT_EVENTS)");
  if (wait_in_capture(resolved, *event)) return;
  if (event->record != nullptr && !event->record->is_done) resolved->gates.push_back(event->record);
}

std::vector<CUstream_st*> Streams::ready(const std::set<const Operation*>* only) const {
  std::vector<CUstream_st*> found;
  const auto consider = [&](const CUstream_st& stream) {
    if (stream.queue.empty() || !is_ready(*stream.queue.front())) return;
    if (only == nullptr || only->count(stream.queue.front().get()) != 0)
      found.push_back(const_cast<CUstream_st*>(&stream));
  };
  consider(default_);
  for (const auto& stream : streams_) consider(*stream);
  return found;
}

bool Streams::run_front(CUstream_st* stream) {
  const OperationPtr operation = stream->queue.front();
  bool is_done = false;
  is_inside = true;
  try {
    is_done = operation->attempt();
  } catch (...) {
    is_inside = false;
    drop_all();
    throw;
  }
  is_inside = false;
  if (!is_done) return false;
  stream->queue.pop_front();
  operation->is_done = true;
  operation->finished = std::chrono::steady_clock::now();
  operation->attempt = nullptr;
  operation->needs.clear();
  std::erase_if(streams_, [](const auto& each) { return each->is_destroyed && each->queue.empty(); });
  return true;
}

/// Whether something got done.
bool Streams::run_one(const std::set<const Operation*>* only) {
  const auto candidates = ready(only);
  if (candidates.empty()) return false;
  const std::size_t first = random_() % candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (run_front(candidates[(first + i) % candidates.size()])) return true;
  return false;
}

void Streams::drop_all() {
  const auto drop = [](CUstream_st& stream) {
    for (const OperationPtr& operation : stream.queue) {
      operation->is_done = true;
      operation->attempt = nullptr;
      operation->needs.clear();
    }
    stream.queue.clear();
    stream.gates.clear();
  };
  drop(default_);
  for (const auto& stream : streams_) drop(*stream);
}

void Streams::run_until(Lock& held, const OperationPtr& target, bool waits) {
  std::set<const Operation*> needed;
  bool only_needed = mode_ == StreamMode::eager || random_() % 2 == 0;
  if (only_needed) collect(target, needed);
  while (!target->is_done) {
    if (run_one(only_needed ? &needed : nullptr)) continue;
    if (ready(nullptr).empty()) throw std::logic_error("streams: nothing can run before what is waited for");
    if (!waits) return;
    only_needed = false;  // another process may wait for what we left
    held.unlock();
    std::this_thread::yield();
    held.lock();
  }
}

void Streams::run_all(Lock& held) {
  while (!ready(nullptr).empty()) {
    if (run_one(nullptr)) continue;
    held.unlock();
    std::this_thread::yield();
    held.lock();
  }
}

void Streams::help_others(std::chrono::milliseconds age) {
  const Lock held = lock();
  const auto long_ago = std::chrono::steady_clock::now() - age;
  std::set<const Operation*> needed;
  const auto look = [&](const CUstream_st& stream) {
    for (const OperationPtr& operation : stream.queue)
      if (operation->needs_others && operation->given < long_ago) collect(operation, needed);
  };
  look(default_);
  for (const auto& stream : streams_) look(*stream);
  while (!needed.empty() && run_one(&needed)) {
  }
}

void Streams::wait(const OperationPtr& operation) {
  Lock held = lock();
  if (operation != nullptr && !operation->is_done) run_until(held, operation, true);
}

void Streams::wait_stream(cudaStream_t stream) {
  forbid_if_captured(stream, "a stream that captures cannot be waited for");
  wait(enqueue(stream, [] {}));
}

void Streams::wait_all() {
  Lock held = lock();
  run_all(held);
}

bool Streams::poll_stream(cudaStream_t stream) {
  const Lock held = lock();
  CUstream_st* polled = resolve(stream);
  // What the default stream waits for counts as its work.
  bool is_done = polled->queue.empty() && polled->gates.empty();
  if (polled == &default_)
    for (const auto& each : streams_) is_done = is_done && (!each->is_blocking || each->queue.empty());
  if (!is_done && !run_one(nullptr) && polled->queue.empty()) polled->gates.clear();
  return is_done;
}

bool Streams::poll_event(cudaEvent_t event) {
  const Lock held = lock();
  if (event->record == nullptr || event->record->is_done) return true;
  run_one(nullptr);
  return false;
}

void Streams::set_mode(StreamMode mode, unsigned seed) {
  Lock held = lock();
  run_all(held);
  mode_ = mode;
  random_.seed(seed);
}

void enqueue_grid(const LaunchSite& site, const GridShape& shape, cudaStream_t stream,
                  std::function<void()> check, std::function<void()> thread) {
  Streams& streams = Streams::instance();
  if (!streams.is_stream(stream)) throw LaunchError(site, "its stream does not exist or was destroyed");
  try {
    streams.enqueue(stream, [site, shape, check = std::move(check), thread = std::move(thread)] {
      check();  // a graph may outlive what it was recorded with
      run_grid(site, shape, thread);
    });
  } catch (const StreamError& error) {
    throw LaunchError(site, error.what());
  }
}

}  // namespace trireme::simt::emulator
