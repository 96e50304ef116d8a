// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/stream.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/settings.h"

namespace trireme::simt::emulator {
namespace {

bool is_ready(const Operation& operation) {
  return std::all_of(operation.needs.begin(), operation.needs.end(),
                     [](const OperationPtr& need) { return need->is_done; });
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

cudaStream_t Streams::create_stream(bool is_blocking, int priority) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->is_blocking = is_blocking;
  streams_.back()->priority = priority;
  return streams_.back().get();
}

bool Streams::destroy_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (stream == nullptr || resolve(stream) == nullptr) return false;
  stream->is_destroyed = true;
  std::erase_if(streams_, [](const auto& each) { return each->is_destroyed && each->queue.empty(); });
  return true;
}

cudaEvent_t Streams::create_event(bool has_timing) {
  const std::lock_guard lock(mutex_);
  auto* event = new CUevent_st{has_timing, nullptr};
  events_.insert(event);
  return event;
}

bool Streams::destroy_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  return resolve(stream) != nullptr;
}

bool Streams::is_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  return events_.count(event) != 0;
}

OperationPtr Streams::push(CUstream_st* stream, std::function<void()> work) {
  auto operation = std::make_shared<Operation>();
  operation->work = std::move(work);
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

OperationPtr Streams::enqueue(cudaStream_t stream, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  CUstream_st* resolved = resolve(stream);
  if (resolved == nullptr) throw std::invalid_argument("the stream does not exist or was destroyed");
  OperationPtr operation = push(resolved, std::move(work));
  if (mode_ == StreamMode::eager) run_until(operation);
  return operation;
}

void Streams::record(cudaEvent_t event, cudaStream_t stream) {
  OperationPtr recording = enqueue(stream, [] {});
  const std::lock_guard lock(mutex_);
  event->record = std::move(recording);
}

void Streams::wait_event(cudaStream_t stream, cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  if (event->record != nullptr && !event->record->is_done) resolve(stream)->gates.push_back(event->record);
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

void Streams::run_front(CUstream_st* stream) {
  const OperationPtr operation = stream->queue.front();
  try {
    operation->work();
  } catch (...) {
    drop_all();
    throw;
  }
  stream->queue.pop_front();
  operation->is_done = true;
  operation->finished = std::chrono::steady_clock::now();
  operation->work = nullptr;
  operation->needs.clear();
  std::erase_if(streams_, [](const auto& each) { return each->is_destroyed && each->queue.empty(); });
}

void Streams::drop_all() {
  const auto drop = [](CUstream_st& stream) {
    for (const OperationPtr& operation : stream.queue) {
      operation->is_done = true;
      operation->work = nullptr;
      operation->needs.clear();
    }
    stream.queue.clear();
    stream.gates.clear();
  };
  drop(default_);
  for (const auto& stream : streams_) drop(*stream);
}

void Streams::run_until(const OperationPtr& target) {
  std::set<const Operation*> needed;
  const bool only_needed = mode_ == StreamMode::eager || random_() % 2 == 0;
  if (only_needed) collect(target, needed);
  while (!target->is_done) {
    const auto candidates = ready(only_needed ? &needed : nullptr);
    if (candidates.empty()) throw std::logic_error("streams: nothing can run before what is waited for");
    run_front(candidates[random_() % candidates.size()]);
  }
}

void Streams::run_all() {
  for (auto candidates = ready(nullptr); !candidates.empty(); candidates = ready(nullptr))
    run_front(candidates[random_() % candidates.size()]);
}

bool Streams::advance_once() {
  const auto candidates = ready(nullptr);
  if (!candidates.empty()) run_front(candidates[random_() % candidates.size()]);
  return !candidates.empty();
}

void Streams::wait(const OperationPtr& operation) {
  const std::lock_guard lock(mutex_);
  if (!operation->is_done) run_until(operation);
}

void Streams::wait_stream(cudaStream_t stream) {
  wait(enqueue(stream, [] {}));
}

void Streams::wait_all() {
  const std::lock_guard lock(mutex_);
  run_all();
}

bool Streams::poll_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  CUstream_st* polled = resolve(stream);
  // What the default stream waits for counts as its work.
  bool is_done = polled->queue.empty() && polled->gates.empty();
  if (polled == &default_)
    for (const auto& each : streams_) is_done = is_done && (!each->is_blocking || each->queue.empty());
  if (!is_done && !advance_once()) polled->gates.clear();
  return is_done;
}

bool Streams::poll_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  if (event->record == nullptr || event->record->is_done) return true;
  advance_once();
  return false;
}

void Streams::set_mode(StreamMode mode, unsigned seed) {
  const std::lock_guard lock(mutex_);
  run_all();
  mode_ = mode;
  random_.seed(seed);
}

void enqueue_grid(const LaunchSite& site, const GridShape& shape, cudaStream_t stream,
                  std::function<void()> thread) {
  Streams& streams = Streams::instance();
  if (!streams.is_stream(stream)) throw LaunchError(site, "its stream does not exist or was destroyed");
  streams.enqueue(stream, [site, shape, thread = std::move(thread)] { run_grid(site, shape, thread); });
}

}  // namespace trireme::simt::emulator
