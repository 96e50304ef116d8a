// SPDX-License-Identifier: Apache-2.0
// Blocks of a grid over OS threads. Threads and their workers live as long as the program: stacks are made
// once.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/sanitizer.h"
#include "kernels/simt/emulator/settings.h"
#include "kernels/simt/emulator/worker.h"

namespace trireme::simt::emulator {
namespace {

uint3 block_at(std::uint64_t flat, dim3 grid) {
  return {static_cast<unsigned>(flat % grid.x), static_cast<unsigned>(flat / grid.x % grid.y),
          static_cast<unsigned>(flat / (std::uint64_t{grid.x} * grid.y))};
}

/// The blocks of one launch, handed out one by one in the order of the settings.
class Grid {
 public:
  Grid(const GridShape& shape, const std::function<void()>& thread)
      : shape_(shape), thread_(thread), count_(std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z) {
    if (settings().order != Order::seeded) return;
    shuffled_.resize(count_);
    std::iota(shuffled_.begin(), shuffled_.end(), std::uint64_t{0});
    std::shuffle(shuffled_.begin(), shuffled_.end(), std::mt19937_64(settings().seed));
  }

  /// Takes blocks until none is left or one has failed.
  void work(Worker& worker) {
    for (std::uint64_t taken = next_++; taken < count_ && !failed_; taken = next_++) {
      std::string error = worker.run_block(shape_, block_at(place(taken), shape_.grid), thread_);
      if (error.empty()) continue;
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) error_ = std::move(error);
    }
  }

  std::uint64_t count() const { return count_; }
  const std::string& error() const { return error_; }

 private:
  std::uint64_t place(std::uint64_t taken) const {
    if (!shuffled_.empty()) return shuffled_[taken];
    return settings().order == Order::reverse ? count_ - 1 - taken : taken;
  }

  const GridShape& shape_;
  const std::function<void()>& thread_;
  std::uint64_t count_;
  std::vector<std::uint64_t> shuffled_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::string error_;
};

/// Threads that wait for grids to help with.
class Helpers {
 public:
  ~Helpers() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wakes_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Works on `grid` with `count` helpers beside the caller; returns when all are done.
  void run(Grid& grid, int count, Worker& own) {
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) < count) threads_.emplace_back([this] { help(); });
      grid_ = &grid;
      wanted_ = count;
    }
    wakes_.notify_all();
    grid.work(own);
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // whoever has not begun need not
    done_.wait(lock, [this] { return busy_ == 0; });
    grid_ = nullptr;
  }

 private:
  void help() {
    const auto worker = std::make_unique<Worker>();
    std::unique_lock lock(mutex_);
    while (true) {
      wakes_.wait(lock, [this] { return ends_ || wanted_ > 0; });
      if (ends_) return;
      --wanted_;
      ++busy_;
      Grid& grid = *grid_;
      lock.unlock();
      grid.work(*worker);
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wakes_, done_;
  std::vector<std::thread> threads_;
  Grid* grid_ = nullptr;
  int wanted_ = 0, busy_ = 0;
  bool ends_ = false;
};

}  // namespace

void check_shape(const LaunchSite& site, const GridShape& shape) {
  const auto& [grid, block, shared_bytes] = shape;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads || block.z > 64)
    throw LaunchError(site, "blocks of " + std::to_string(threads) + " threads: 1 to 1024 are possible");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFU || grid.y > 65535 || grid.z > 65535)
    throw LaunchError(site, "a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                                std::to_string(grid.z) + " blocks: 1 to 2^31-1, 65535, 65535 are possible");
  if (shared_bytes > BlockMemory::kLimit)
    throw LaunchError(site, std::to_string(shared_bytes) + " bytes of shared memory: 227 KiB are possible");
}

void run_grid(const LaunchSite& site, const GridShape& shape, const std::function<void()>& thread) {
  static thread_local const auto own = std::make_unique<Worker>();
  static Helpers helpers;
  Grid grid(shape, thread);
  order_before(order_of_begin(thread));
  begin_counting(site, shape);
  const int threads = settings().counting ? 1 : settings().threads;
  if (threads == 1 || grid.count() == 1)
    grid.work(*own);
  else
    helpers.run(grid, threads - 1, *own);
  end_counting();
  order_after(order_of_end(thread));
  if (!grid.error().empty())
    throw EmulationError(std::string("kernel ") + site.kernel + ", launched at " + site.file + ":" +
                         std::to_string(site.line) + ": " + grid.error());
}

}  // namespace trireme::simt::emulator
