// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/comm/shm_collective.h"
#include "src/core/buffer.h"
#include "src/core/deadline.h"
#include "tests/src/comm/exact_values.h"

namespace trireme::testing_support {

/// One rank of a node whose ranks are threads of this process.
class ShmRank {
 public:
  ShmRank(int rank, const std::vector<std::byte*>& memories, std::size_t bytes, std::vector<int> names)
      : lane(rank, memories, bytes, std::move(names)), random(static_cast<unsigned>(rank)) {}

  /// Memory that the other ranks can see, holding `values`.
  template <typename T>
  Tensor share(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    std::byte* data = lane.memory(lane.rank()) + ShmLayout::kBuffers + used_;
    used_ += (bytes + 255) / 256 * 256;
    if (bytes > 0) std::memcpy(data, values.data(), bytes);
    return row_of(reinterpret_cast<T*>(data), std::ssize(values));
  }
  void forget_shared() { used_ = 0; }

  std::unique_ptr<Collective> make(ShmJob::Kind kind, const Tensor& tensor, const Tensor& result,
                                   int root = 0) {
    return std::make_unique<ShmCollective>(lane, ShmJob{kind, tensor, result, root, lane.rank(), lane.size()},
                                           "test");
  }
  /// Starts and steps as CommThread does, in pauses of random length if asked, until all are complete.
  void run(std::span<const std::unique_ptr<Collective>> collectives, bool with_delays = false) {
    Deadline deadline(std::chrono::seconds(100));
    std::vector<Collective*> active;
    std::size_t started = 0;
    while (started < collectives.size() || !active.empty()) {
      if (started < collectives.size() && (!with_delays || random() % 2 == 0)) {
        collectives[started]->start();
        active.push_back(collectives[started++].get());
      }
      std::erase_if(active, [](Collective* collective) { return collective->step(); });
      if (with_delays) delay();
      std::this_thread::yield();
      if (deadline.passed()) throw std::runtime_error("a collective hangs");
    }
  }
  void run(std::unique_ptr<Collective> collective) { run({&collective, 1}); }

  ShmLane lane;
  std::minstd_rand random;

 private:
  void delay() {
    const auto drawn = random() % 16;
    if (drawn == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    if (drawn < 4) std::this_thread::yield();
  }

  std::size_t used_ = 0;
};

/// Runs `body` on `ranks` threads that share memory, each with `buffer_bytes` for its tensors.
inline void run_ranks(int ranks, std::size_t buffer_bytes, const std::function<void(ShmRank&)>& body) {
  const std::size_t bytes = ShmLayout::kBuffers + buffer_bytes;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<std::byte*> memories;
  HostMemory source;
  for (int r = 0; r < ranks; ++r) {
    buffers.push_back(source.allocate(bytes));
    memories.push_back(static_cast<std::byte*>(buffers.back()->data()));
  }
  std::vector<int> names(static_cast<std::size_t>(ranks));
  std::iota(names.begin(), names.end(), 0);
  std::latch ready(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      ShmRank rank(r, memories, bytes, names);
      ready.arrive_and_wait();
      try {
        body(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << r << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace trireme::testing_support
