// SPDX-License-Identifier: Apache-2.0
// A loop whose bodies run on several threads and whose results are taken in order, with bounded memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/core/error.h"

namespace trireme {

/// Calls produce(i) for i in [0, count) on `threads` threads, and consume(i, result) on the calling thread in
/// the order of i. At most 4 results per thread wait or are being made. An exception of either ends the loop
/// and is thrown here; of several from produce, the one with the smallest i.
template <typename Result>
class OrderedParallel {
 public:
  OrderedParallel(std::int64_t count, int threads)
      : count_(count), slots_(4 * static_cast<std::size_t>(threads)) {
    TRIREME_ASSERT(count >= 0 && threads > 0, "a parallel loop has threads");
    threads_ = threads;
  }

  template <typename Produce, typename Consume>
  void run(const Produce& produce, const Consume& consume) {
    std::vector<std::jthread> workers;
    const StopAtEnd stop_at_end{*this};  // before the threads are joined
    workers.reserve(static_cast<std::size_t>(threads_));
    for (int i = 0; i < threads_; ++i) workers.emplace_back([&] { work(produce); });
    for (std::int64_t i = 0; i < count_; ++i) {
      consume(i, take(i));
      slot(i).result = Result{};  // its memory is not needed until the slot is used again
      const std::lock_guard lock(mutex_);
      slot(i).ready = false;
      ++consumed_;
      room_.notify_one();
    }
  }

 private:
  struct Slot {
    Result result{};
    std::exception_ptr error;
    bool ready = false;
  };
  struct StopAtEnd {
    OrderedParallel& loop;
    ~StopAtEnd() {
      const std::lock_guard lock(loop.mutex_);
      loop.stopped_ = true;
      loop.room_.notify_all();
    }
  };

  Slot& slot(std::int64_t i) { return slots_[static_cast<std::size_t>(i) % slots_.size()]; }

  template <typename Produce>
  void work(const Produce& produce) {
    for (;;) {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] {
        return stopped_ || next_ >= count_ || next_ < consumed_ + static_cast<std::int64_t>(slots_.size());
      });
      if (stopped_ || next_ >= count_) return;
      const std::int64_t i = next_++;
      lock.unlock();
      Slot& mine = slot(i);
      try {
        mine.result = produce(i);
      } catch (...) {
        mine.error = std::current_exception();
      }
      lock.lock();
      mine.ready = true;
      done_.notify_one();
    }
  }

  Result& take(std::int64_t i) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return slot(i).ready; });
    if (slot(i).error) std::rethrow_exception(slot(i).error);
    return slot(i).result;
  }

  std::int64_t count_;
  int threads_ = 1;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable room_, done_;
  std::int64_t next_ = 0, consumed_ = 0;
  bool stopped_ = false;
};

}  // namespace trireme
