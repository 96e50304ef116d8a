// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "src/core/deadline.h"
#include "src/core/error.h"
#include "tests/data/loader_scene.h"

namespace trireme {
namespace {

using namespace loader_scene;

TEST(Loader, delivers_the_same_epochs_in_order_with_any_number_of_threads) {
  for (const int threads : {1, 2, 5})
    for (const std::int64_t rows : {1, 7, 64}) {
      Scene scene(200, options_of(threads, rows));
      const auto loader = scene.make();
      for (const std::uint32_t epoch : {0U, 1U, 2U}) expect_epoch(scene, *loader, epoch);
    }
}

TEST(Loader, works_with_a_pool_of_one_batch) {
  Scene scene(100, options_of(2, 16, 1));
  const auto loader = scene.make();
  expect_epoch(scene, *loader, 0);
}

TEST(Loader, begins_in_the_middle_of_an_epoch) {
  Scene scene(200, options_of(2, 32));
  const auto loader = scene.make();
  expect_epoch(scene, *loader, 4, 3);
  expect_epoch(scene, *loader, 5, scene.batches());  // nothing left
  expect_epoch(scene, *loader, 6);
}

TEST(Loader, drops_what_an_earlier_start_left) {
  Scene scene(400, options_of(3, 16));
  const auto loader = scene.make();
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    loader->start(epoch, 0, scene.batches(), scene.requests());
    for (std::uint32_t taken = 0; taken < epoch % 4; ++taken) ASSERT_NE(loader->next(), nullptr);
  }
  expect_epoch(scene, *loader, 21);
}

TEST(Loader, gives_nothing_before_it_is_started) {
  Scene scene(10, options_of(1, 4));
  EXPECT_EQ(scene.make()->next(), nullptr);
}

TEST(Loader, pads_to_the_rows_asked_for_and_takes_smaller_batches) {
  Scene scene(100, options_of(2, 20));
  const auto loader = scene.make();
  // Rows that were full, a part of them, none, and fewer than the pool's.
  const std::vector<Loader::Request> requests{{{0, 20}, 20},  {{20, 40}, 20}, {{40, 60}, 20}, {{60, 67}, 20},
                                              {{67, 67}, 20}, {{67, 70}, 5},  {{70, 75}, 5},  {{75, 75}, 0}};
  const auto count = static_cast<std::int64_t>(requests.size());
  loader->start(0, 0, count, [&](std::int64_t index) { return requests[static_cast<std::size_t>(index)]; });
  for (std::int64_t index = 0; index < count; ++index) {
    const auto batch = loader->next();
    ASSERT_NE(batch, nullptr);
    ASSERT_NO_FATAL_FAILURE(
        expect_content(scene, *batch, 0, index, requests[static_cast<std::size_t>(index)]));
  }
  EXPECT_EQ(loader->next(), nullptr);
}

TEST(Loader, batches_may_be_held_and_returned_in_any_order) {
  Scene scene(300, options_of(2, 10, 4));
  const auto loader = scene.make();
  loader->start(1, 0, scene.batches(), scene.requests());
  std::deque<Loader::BatchPtr> held;
  for (std::int64_t index = 0; index < scene.batches(); ++index) {
    held.push_back(loader->next());
    ASSERT_NE(held.back(), nullptr);
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::int64_t of = held[i]->index;
      ASSERT_NO_FATAL_FAILURE(expect_content(scene, *held[i], 1, of, scene.requests()(of)));
    }
    if (held.size() == 3) held.erase(held.begin() + index % 3);
  }
}

TEST(Loader, memory_is_allocated_once) {
  Scene scene(200, options_of(2, 16, 3));
  const auto loader = scene.make();
  EXPECT_EQ(scene.memory.allocations, 3);
  std::set<void*> images;
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    loader->start(epoch, 0, scene.batches(), scene.requests());
    while (const auto batch = loader->next()) images.insert(batch->images.data);
  }
  EXPECT_EQ(scene.memory.allocations, 3);
  EXPECT_LE(images.size(), 3U);
}

TEST(Loader, several_threads_fill_one_batch) {
  Scene scene(64, options_of(2, 64, 1));
  std::mutex mutex;
  std::condition_variable second_came;
  std::set<std::thread::id> readers;
  scene.dataset.on_read = [&](std::int64_t) {
    std::unique_lock lock(mutex);
    readers.insert(std::this_thread::get_id());
    second_came.notify_all();
    second_came.wait_for(lock, seconds(20), [&] { return readers.size() == 2; });
  };
  const auto loader = scene.make();
  loader->start(0, 0, 1, scene.requests());
  ASSERT_NE(loader->next(), nullptr);
  EXPECT_EQ(readers.size(), 2U);
}

TEST(Loader, reads_no_more_once_it_is_ended_or_started_anew) {
  constexpr int kThreads = 3;
  Scene scene(100000, options_of(kThreads, 1000));  // a chunk is 32 rows
  std::atomic<int> reads = 0;
  scene.dataset.on_read = [&](std::int64_t) {
    ++reads;
    std::this_thread::sleep_for(milliseconds(20));
  };
  auto loader = scene.make();
  loader->start(0, 0, scene.batches(), scene.requests());
  std::this_thread::sleep_for(milliseconds(10));
  // Each thread may begin one more sample while the order to stop is on its way.
  int before = reads;
  loader->start(1, 0, 0, scene.requests());
  EXPECT_LE(reads, before + 2 * kThreads);
  loader->start(2, 0, scene.batches(), scene.requests());
  std::this_thread::sleep_for(milliseconds(10));
  before = reads;
  loader.reset();
  EXPECT_LE(reads, before + 2 * kThreads);
}

TEST(Loader, counts_the_seconds_that_it_was_waited_for) {
  Scene scene(8, options_of(1, 4));
  scene.dataset.on_read = [](std::int64_t) { std::this_thread::sleep_for(milliseconds(10)); };
  const auto loader = scene.make();
  EXPECT_EQ(loader->wait_seconds(), 0);
  loader->start(0, 0, 1, scene.requests());
  ASSERT_NE(loader->next(), nullptr);
  const double waited = loader->wait_seconds();
  EXPECT_GE(waited, 0.03);
  EXPECT_LT(waited, 5);
  loader->start(0, 1, 2, scene.requests());
  std::this_thread::sleep_for(milliseconds(500));
  ASSERT_NE(loader->next(), nullptr);
  EXPECT_LT(loader->wait_seconds(), waited + 0.2);
}

}  // namespace
}  // namespace trireme
