// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of a grid, one after another, on one OS thread. README.md in this folder tells how.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdarg>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/simt/emulator/async_copies.h"
#include "kernels/simt/emulator/block.h"
#include "kernels/simt/emulator/block_memory.h"
#include "kernels/simt/emulator/fiber.h"
#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/ready_set.h"

namespace trireme::simt::emulator {

/// Places that order a launch's threads after what the host did before, and before what it does after.
inline const void* order_of_begin(const std::function<void()>& thread) {
  return &thread;
}
inline const void* order_of_end(const std::function<void()>& thread) {
  return reinterpret_cast<const char*>(&thread) + 8;
}

/// A collective of one warp that some lanes wait in.
struct PendingCollective {
  const char* name;
  Resolve resolve;
  std::uint32_t mask, arrived;
  Site site;
  const void* order;  ///< see sanitizer.h
};

class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Runs one block; what went wrong, or an empty text.
  std::string run_block(const GridShape& shape, uint3 block, const std::function<void()>& thread);

  /// The worker of the calling fiber.
  static Worker& current();
  /// Whether the caller is a thread of a kernel.
  static bool is_running();

  // What block.h says, on the calling fiber.
  void block_barrier(Site site);
  void named_barrier(int id, int threads, bool wait, Site site);
  void warp_collective(const char* name, Resolve resolve, std::uint32_t mask, void* arguments, Site site);
  void async_copy(void* shared, const void* global, int bytes, bool valid, Site site);
  AsyncCopies& async_copies() { return async_[static_cast<std::size_t>(running_)]; }
  BlockMemory& memory() { return memory_; }
  [[noreturn]] void fail(Site site, const char* format, std::va_list arguments);
  int running() const { return running_; }
  int threads() const { return threads_; }
  /// Counts the blocks that this worker has begun.
  std::uint64_t block_number() const { return block_number_; }
  /// The last access that the running thread announced through the vocabulary.
  void announce(const void* pointer, std::size_t bytes, Site site) {
    announced_[static_cast<std::size_t>(running_)] = {static_cast<const char*>(pointer), bytes, site};
  }
  Site announced_at() const { return announced_[static_cast<std::size_t>(running_)].site; }
  bool is_announced(const void* pointer, std::size_t bytes) const {
    const auto& [begin, size, site] = announced_[static_cast<std::size_t>(running_)];

    const auto* byte = static_cast<const char*>(pointer);
    return byte >= begin && byte + bytes <= begin + size;
  }

 private:
  struct Barrier {
    int arrived = 0, threads = 0;
    Site site{};
    const void* order = nullptr;
    std::array<std::uint32_t, kMaxWarps> waiting{};
  };
  struct Warp {
    std::uint32_t exited = 0;
    int pending_count = 0;
    std::array<PendingCollective, 32> pending{};
    std::array<void*, 32> arguments{};
  };

  static void enter(boost::context::detail::transfer_t from);
  void start_block(const GridShape& shape, uint3 block);
  void exit_thread();
  /// Goes on with another thread until this one is ready again.
  void wait();
  void go_on_with(int thread);
  void switch_to(int thread);
  void arrived_from(boost::context::detail::fcontext_t context);
  Fiber& fiber(int thread) { return thread < 0 ? main_ : fibers_[static_cast<std::size_t>(thread)]; }
  void release(Barrier& barrier);
  PendingCollective& join(Warp& warp, const PendingCollective& wanted);
  void complete(int warp, PendingCollective& collective);
  void prepare_threads(int count);
  const void* new_order() { return &orders_[next_order_++ % orders_.size()]; }
  std::string place_of(int thread) const;
  std::string deadlock() const;

  std::vector<FiberStack> stacks_;
  std::vector<Fiber> fibers_;
  std::vector<void*> identities_;         ///< of the stacks, where a sanitizer wants them
  std::size_t first_stack_ = 0;           ///< of this block
  std::unique_ptr<AsyncCopies[]> async_;  // NOLINT(modernize-avoid-c-arrays): too large to be constructed
  std::vector<Site> waiting_at_;          ///< of each thread that is not ready
  Fiber main_;
  BlockMemory memory_;
  ReadySet ready_;
  std::array<Warp, kMaxWarps> warps_{};
  std::array<Barrier, 16> barriers_{};
  GridShape shape_{};
  uint3 block_{};
  std::uint64_t block_number_ = 0;
  struct Announced {
    const char* begin;
    std::size_t bytes;
    Site site;
  };
  std::array<Announced, kMaxThreads> announced_{};

  const std::function<void()>* thread_ = nullptr;
  int threads_ = 0, live_ = 0;
  int running_ = -1;   ///< -1: the thread that called run_block
  int previous_ = -1;  ///< who jumped here
  std::uint64_t random_ = 0;
  /// Each meeting has a place of its own to be ordered by: who is through it may be at the next one already.
  std::array<std::uint64_t, 1024> orders_{};
  std::size_t next_order_ = 0;
  std::array<char, 1024> error_{};
};

}  // namespace trireme::simt::emulator
