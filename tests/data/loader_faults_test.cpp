// SPDX-License-Identifier: Apache-2.0
// Errors, deadlines and misuse.
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

TEST(Loader, misuse_of_the_pool_is_an_error) {
  Scene scene(100, options_of(1, 10, 1));
  const auto loader = scene.make();
  loader->start(0, 0, scene.batches(), scene.requests());
  const auto batch = loader->next();
  EXPECT_THROW(loader->next(), Error);  // would wait for ever
  EXPECT_THROW(loader->start(1, 0, scene.batches(), scene.requests()), Error);
}

TEST(Loader, an_error_comes_at_its_batch_and_names_the_sample) {
  for (const int threads : {1, 2, 5}) {
    Scene scene(100, options_of(threads, 10));
    const std::int64_t first_bad = scene.sampler.sample_at(3, 34),
                       second_bad = scene.sampler.sample_at(3, 37);
    std::atomic<bool> damaged = true;
    scene.dataset.on_read = [&](std::int64_t sample) {
      if (sample == first_bad) std::this_thread::sleep_for(milliseconds(30));  // the later row fails first
      if (damaged && (sample == first_bad || sample == second_bad))
        throw make_error(Status::bad_data, "the picture is damaged")
            .at("sample " + std::to_string(sample) + " of fake.h5")
            .hint("pack it again");
    };
    const auto loader = scene.make();
    loader->start(3, 0, scene.batches(), scene.requests());
    for (std::int64_t index = 0; index < 3; ++index) {
      const auto batch = loader->next();
      ASSERT_NE(batch, nullptr);
      EXPECT_EQ(batch->index, index);
    }
    for (int again = 0; again < 2; ++again) {
      try {
        loader->next();
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::bad_data);
        EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("the picture is damaged: sample " +
                                                                     std::to_string(first_bad) +
                                                                     " of fake.h5, batch 4 of epoch 4"),
                                                 testing::HasSubstr("pack it again")));
      }
    }
    damaged = false;
    expect_epoch(scene, *loader, 4);
  }
}

TEST(Loader, other_exceptions_become_errors_too) {
  Scene scene(20, options_of(2, 10));
  scene.dataset.on_read = [](std::int64_t) { throw std::runtime_error("odd"); };
  const auto loader = scene.make();
  loader->start(0, 0, 2, scene.requests());
  try {
    loader->next();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::internal);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("odd"), testing::HasSubstr("batch 1 of epoch 1")));
  }
}

TEST(Loader, impossible_requests_are_errors) {
  Scene scene(20, options_of(1, 10));
  const auto loader = scene.make();
  for (const Loader::Request request :
       {Loader::Request{{0, 11}, 10}, {{0, 11}, 11}, {{15, 25}, 10}, {{-1, 5}, 10}, {{5, 4}, 10}}) {
    loader->start(0, 0, 1, [&](std::int64_t) { return request; });
    EXPECT_THROW(loader->next(), Error);
  }
  loader->start(0, 0, 1, [](std::int64_t) -> Loader::Request { throw std::runtime_error("no request"); });
  EXPECT_THROW(loader->next(), Error);
  expect_epoch(scene, *loader, 1);
}

/// Holds readers until it is opened.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait_for(lock, seconds(30), [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST(Loader, a_late_batch_is_an_error_that_names_it_and_polls_go_on) {
  LoaderOptions options = options_of(1, 10);
  options.limit.timeout = milliseconds(300);
  Scene scene(40, options);
  Gate gate;
  scene.dataset.on_read = [&](std::int64_t) { gate.wait(); };
  const auto loader = scene.make();
  loader->start(3, 2, 4, scene.requests());
  int polls = 0;
  const Stopwatch watch;
  try {
    loader->next([&] { ++polls; });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::io_error);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("data loader: batch 3 of epoch 4"),
                                             testing::HasSubstr("fake.h5")));
  }
  EXPECT_GE(watch.seconds(), 0.3);
  EXPECT_GE(polls, 2);
  EXPECT_LE(polls, 8);
  try {
    loader->start(4, 0, 4, scene.requests());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::io_error);
    EXPECT_THAT(error.what(), testing::HasSubstr("epoch 4"));
  }
  gate.open();
}

TEST(Loader, an_exception_of_poll_passes_and_the_loader_goes_on) {
  Scene scene(40, options_of(2, 10));
  Gate gate;
  scene.dataset.on_read = [&](std::int64_t) { gate.wait(); };
  const auto loader = scene.make();
  loader->start(0, 0, 4, scene.requests());
  struct Stopped {};
  EXPECT_THROW(loader->next([] { throw Stopped(); }), Stopped);
  gate.open();
  for (std::int64_t index = 0; index < 4; ++index) {
    const auto batch = loader->next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->index, index);
  }
}

}  // namespace
}  // namespace trireme
