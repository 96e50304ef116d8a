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
#include "src/core/philox.h"

namespace trireme {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kSize = 6;
constexpr int kChannels = 3;
constexpr std::int64_t kRowValues = kSize * kSize * kChannels;

/// Pictures of noise keyed by the sample; `on_read` is called first.
class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(std::int64_t samples) {
    info_.name = "fake.h5";
    info_.sample_shape = {kSize, kSize, kChannels};
    info_.num_samples = samples;
    info_.class_names = {"a", "b", "c"};
    info_.channel_mean = {0.5, 0.4, 0.3};
    info_.channel_std = {0.2, 0.3, 0.4};
  }
  const DatasetInfo& info() const override { return info_; }
  std::int32_t label(std::int64_t sample) const override { return static_cast<std::int32_t>(sample % 3); }
  void read(std::int64_t sample, Picture& picture) const override {
    if (on_read) on_read(sample);
    picture.resize(kSize, kSize, kChannels);
    Philox random(5, RandomStream::synthetic, 0, static_cast<std::uint64_t>(sample));
    for (std::uint8_t& level : picture.pixels) level = static_cast<std::uint8_t>(random.next_u32());
  }

  std::function<void(std::int64_t sample)> on_read;

 private:
  DatasetInfo info_;
};

class CountingMemory : public BufferSource {
 public:
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override {
    ++allocations;
    return host_.allocate(bytes);
  }
  int allocations = 0;

 private:
  HostMemory host_;
};

Transform transform_of(const Dataset& dataset) {
  TransformOptions options;
  options.image_size = kSize;
  options.augment = Augment::crop_flip;
  options.mean = dataset.info().channel_mean;
  options.std = dataset.info().channel_std;
  options.seed = 3;
  return Transform(options);
}

LoaderOptions options_of(int threads, std::int64_t rows, int pool_batches = 3) {
  LoaderOptions options;
  options.threads = threads;
  options.rows = rows;
  options.pool_batches = pool_batches;
  options.timeout = seconds(60);
  return options;
}

/// All that a loader needs, and batches of `rows` rows over all samples.
struct Scene {
  Scene(std::int64_t samples, LoaderOptions loader_options)
      : dataset(samples), sampler(samples, 8, {}), options(loader_options) {}

  std::int64_t batches() const { return (sampler.num_samples() + options.rows - 1) / options.rows; }
  Loader::RequestOf requests() const {
    return [this](std::int64_t index) {
      return Loader::Request{step_range(index, options.rows, sampler.num_samples()), options.rows};
    };
  }
  std::unique_ptr<Loader> make() {
    return std::make_unique<Loader>(dataset, sampler, transform_of(dataset), options, memory);
  }

  FakeDataset dataset;
  Sampler sampler;
  LoaderOptions options;
  CountingMemory memory;
};

/// The batch holds what sampler, dataset and transform give one by one, then padding.
void expect_content(const Scene& scene, const Batch& batch, std::uint32_t epoch, std::int64_t index,
                    const Loader::Request& request) {
  ASSERT_EQ(batch.index, index);
  ASSERT_EQ(batch.valid, request.range.size());
  ASSERT_EQ(batch.images.shape, (Shape{request.rows, kSize, kSize, kChannels}));
  ASSERT_EQ(batch.images.dtype, DType::f32);
  const Transform transform = transform_of(scene.dataset);
  Picture picture;
  std::vector<float> expected(kRowValues);
  for (std::int64_t row = 0; row < request.rows; ++row) {
    std::int64_t sample = -1;
    std::int32_t label = 0;
    std::ranges::fill(expected, 0.0F);
    if (row < request.range.size()) {
      sample = scene.sampler.sample_at(epoch, request.range.begin + row);
      label = scene.dataset.label(sample);
      scene.dataset.read(sample, picture);
      transform.apply(picture, epoch, sample, expected.data());
    }
    ASSERT_EQ(batch.sample_ids[row], sample) << "row " << row << " of batch " << index;
    ASSERT_EQ(batch.labels[row], label);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), batch.images.as<float>() + row * kRowValues))
        << "row " << row << " of batch " << index;
  }
}

void expect_epoch(const Scene& scene, Loader& loader, std::uint32_t epoch, std::int64_t first = 0) {
  loader.start(epoch, first, scene.batches(), scene.requests());
  for (std::int64_t index = first; index < scene.batches(); ++index) {
    const auto batch = loader.next();
    ASSERT_NE(batch, nullptr) << "batch " << index;
    ASSERT_NO_FATAL_FAILURE(expect_content(scene, *batch, epoch, index, scene.requests()(index)));
  }
  EXPECT_EQ(loader.next(), nullptr);
  EXPECT_EQ(loader.next(), nullptr);
}

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

TEST(Loader, misuse_of_the_pool_is_an_error) {
  Scene scene(100, options_of(1, 10, 1));
  const auto loader = scene.make();
  loader->start(0, 0, scene.batches(), scene.requests());
  const auto batch = loader->next();
  EXPECT_THROW(loader->next(), Error);  // would wait for ever
  EXPECT_THROW(loader->start(1, 0, scene.batches(), scene.requests()), Error);
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

TEST(Loader, an_error_comes_at_its_batch_and_names_the_sample) {
  for (const int threads : {1, 2, 5}) {
    Scene scene(100, options_of(threads, 10));
    const std::int64_t first_bad = scene.sampler.sample_at(3, 34),
                       second_bad = scene.sampler.sample_at(3, 37);
    std::atomic<bool> damaged = true;
    scene.dataset.on_read = [&](std::int64_t sample) {
      if (sample == first_bad) std::this_thread::sleep_for(milliseconds(30));  // the later row fails first
      if (damaged && (sample == first_bad || sample == second_bad))
        throw make_error(Status::bad_data, "the picture is damaged").hint("pack it again");
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
        EXPECT_THAT(error.what(),
                    testing::AllOf(testing::StartsWith("the picture is damaged: sample " +
                                                       std::to_string(first_bad) + ", batch 3 of epoch 3"),
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
                testing::AllOf(testing::HasSubstr("odd"), testing::HasSubstr("batch 0 of epoch 0")));
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
  options.timeout = milliseconds(300);
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
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("data loader: batch 2 of epoch 3"),
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
    EXPECT_THAT(error.what(), testing::HasSubstr("epoch 3"));
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
