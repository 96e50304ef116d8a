// SPDX-License-Identifier: Apache-2.0
// One lock guards all that threads share. A worker takes a few rows of the batch that is being filled,
// opening the next batch when those of the current one are all taken and the pool has a free one; it fills
// them without the lock, and the worker that finishes a batch's last rows wakes next(). So several threads
// fill one batch, and batches are filled, and delivered, in order.
#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "data/batch_pool.h"
#include "data/row_filler.h"
#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr std::int64_t kMaxChunkRows = 32;

}  // namespace

struct Loader::Impl {
  Impl(const Dataset& dataset, const Sampler& sampler, Transform transform, LoaderOptions options,
       BufferSource& memory);
  ~Impl() { join(); }

  void start(std::uint32_t epoch, std::int64_t first, std::int64_t count, RequestOf request_of);
  Batch* next(const std::function<void()>& poll);
  void give_back(Batch* batch);

  void join();
  void work();
  bool may_open() const { return next_to_open_ < end_ && pool_.has_free(); }
  void open_batch();
  Chunk take_chunk();
  void finish(const Chunk& chunk, RowError failed);
  void await_front(std::unique_lock<std::mutex>& lock, const std::function<void()>& poll);

  const RowFiller filler_;
  const LoaderOptions options_;
  const std::int64_t chunk_rows_;

  mutable std::mutex mutex_;
  std::condition_variable work_ready_;   // for workers: rows to fill, or the end
  std::condition_variable batch_ready_;  // for the user: a batch is complete, or a worker has become idle
  std::atomic<bool> abandon_ = false;    // workers drop what they are filling at the next sample

  // Guarded by the mutex.
  BatchPool pool_;
  BatchSlot* filling_ = nullptr;  // the batch whose rows are being handed out
  RequestOf request_of_;
  std::uint32_t epoch_ = 0;
  std::int64_t next_to_open_ = 0, next_to_deliver_ = 0, end_ = 0;
  int busy_workers_ = 0;
  double waited_ = 0;
  bool stop_ = false;

  std::vector<std::thread> threads_;  // last: they use all of the above
};

Loader::Impl::Impl(const Dataset& dataset, const Sampler& sampler, Transform transform, LoaderOptions options,
                   BufferSource& memory)
    : filler_(dataset, sampler, std::move(transform), options.pixels),
      options_(std::move(options)),
      chunk_rows_(
          std::clamp<std::int64_t>(options_.rows / (4 * std::max(options_.threads, 1)), 1, kMaxChunkRows)),
      pool_(std::max(options_.pool_batches, 1), filler_.images(options_.rows), memory) {
  TRIREME_ASSERT(options_.threads > 0 && options_.pool_batches > 0 && options_.rows > 0,
                 "a loader has threads, and batches with rows");
  threads_.reserve(static_cast<std::size_t>(options_.threads));
  try {
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    join();
    throw make_error(Status::configuration, "data loader: only {} of {} threads could be started: {}",
                     threads_.size(), options_.threads, error.what())
        .hint("use fewer --loader-threads");
  }
}

void Loader::Impl::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    abandon_ = true;
  }
  work_ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Loader::Impl::start(std::uint32_t epoch, std::int64_t first, std::int64_t count, RequestOf request_of) {
  std::unique_lock lock(mutex_);
  TRIREME_ASSERT(pool_.held() == 0, "batches must be returned before the loader starts anew");
  end_ = 0;  // nothing more is opened
  filling_ = nullptr;
  abandon_ = true;
  Deadline deadline(options_.limit.timeout);
  if (!wait_until(batch_ready_, lock, deadline, [&] { return busy_workers_ == 0; }))
    throw make_error(Status::io_error,
                     "data loader: a sample of epoch {} was still being read after {:.1f} s",
                     std::int64_t{epoch_} + 1, deadline.seconds_waited())
        .at(filler_.dataset().info().name)
        .hint("check the file system, or raise " + options_.limit.setting);
  abandon_ = false;
  pool_.drop_in_flight();
  request_of_ = std::move(request_of);
  epoch_ = epoch;
  next_to_open_ = next_to_deliver_ = first;
  end_ = count;
  work_ready_.notify_all();
}

Batch* Loader::Impl::next(const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  if (next_to_deliver_ >= end_) return nullptr;
  TRIREME_ASSERT(pool_.held() < pool_.size(), "a batch must be returned before the next one can come");
  if (pool_.front() == nullptr || pool_.front()->missing_rows > 0) await_front(lock, poll);
  if (pool_.front()->error) throw Error(*pool_.front()->error);
  ++next_to_deliver_;
  return &pool_.take_front().batch;
}

void Loader::Impl::await_front(std::unique_lock<std::mutex>& lock, const std::function<void()>& poll) {
  const auto ready = [&] { return pool_.front() != nullptr && pool_.front()->missing_rows == 0; };
  Deadline deadline(options_.limit.timeout);
  while (!batch_ready_.wait_until(lock, std::min(Deadline::Clock::now() + kPollInterval, deadline.end()),
                                  ready)) {
    if (poll) {
      lock.unlock();
      poll();
      lock.lock();
    }
    if (deadline.passed() && !ready())
      throw make_error(Status::io_error, "data loader: {} did not arrive within {:.1f} s",
                       batch_place(next_to_deliver_, epoch_), deadline.seconds_waited())
          .at(filler_.dataset().info().name)
          .hint("check the file system, or raise " + options_.limit.setting);
  }
  waited_ += deadline.seconds_waited();
}

void Loader::Impl::give_back(Batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    pool_.give_back(batch);
  }
  work_ready_.notify_one();  // one worker opens the batch and wakes the others
}

void Loader::Impl::work() {
  RowFiller::Scratch scratch;
  std::unique_lock lock(mutex_);
  while (true) {
    work_ready_.wait(lock, [&] { return stop_ || filling_ != nullptr || may_open(); });
    if (stop_) return;
    if (filling_ == nullptr) {
      open_batch();
      continue;
    }
    const Chunk chunk = take_chunk();
    ++busy_workers_;
    lock.unlock();
    RowError failed = filler_.fill(chunk, abandon_, scratch);
    lock.lock();
    --busy_workers_;
    finish(chunk, std::move(failed));
  }
}

void Loader::Impl::open_batch() {
  const std::int64_t index = next_to_open_++;
  Request request;
  std::optional<Error> error = error_of(
      [&] {
        request = request_of_(index);
        TRIREME_ASSERT(request.range.size() >= 0 && request.range.size() <= request.rows &&
                           request.rows <= options_.rows,
                       "a batch's samples fit in its rows, and its rows in the pool's");
        TRIREME_ASSERT(request.range.begin >= 0 && request.range.end <= filler_.sampler().num_samples(),
                       "a batch's samples are of the epoch");
      },
      [&] { return batch_place(index, epoch_); });
  if (error) request = {};
  BatchSlot& slot = pool_.open(index, request);
  slot.error = std::move(error);
  if (request.rows == 0) {
    batch_ready_.notify_all();
  } else {
    filling_ = &slot;
    work_ready_.notify_all();
  }
}

Chunk Loader::Impl::take_chunk() {
  Chunk chunk{filling_, epoch_, filling_->next_row, 0};
  chunk.end = std::min(chunk.begin + chunk_rows_, filling_->request.rows);
  filling_->next_row = chunk.end;
  if (chunk.end == filling_->request.rows) filling_ = nullptr;
  return chunk;
}

void Loader::Impl::finish(const Chunk& chunk, RowError failed) {
  BatchSlot& slot = *chunk.slot;
  if (failed.error && (!slot.error || failed.row < slot.error_row)) {
    slot.error = std::move(failed.error);
    slot.error_row = failed.row;
  }
  slot.missing_rows -= chunk.end - chunk.begin;
  if (slot.missing_rows == 0 || busy_workers_ == 0) batch_ready_.notify_all();
}

Loader::Loader(const Dataset& dataset, const Sampler& sampler, Transform transform, LoaderOptions options,
               BufferSource& memory)
    : impl_(std::make_unique<Impl>(dataset, sampler, std::move(transform), std::move(options), memory)) {}

Loader::~Loader() = default;

void Loader::start(std::uint32_t epoch, std::int64_t first, std::int64_t count, RequestOf request_of) {
  impl_->start(epoch, first, count, std::move(request_of));
}

Loader::BatchPtr Loader::next(const std::function<void()>& poll) {
  return BatchPtr(impl_->next(poll), Return{this});
}

double Loader::wait_seconds() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->waited_;
}

void Loader::Return::operator()(Batch* batch) const {
  loader->impl_->give_back(batch);
}

}  // namespace trireme
