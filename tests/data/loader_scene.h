// SPDX-License-Identifier: Apache-2.0
// What the loader's tests share: a dataset of noise, counted memory, and the content that a batch must have.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "data/loader.h"
#include "src/core/philox.h"

namespace trireme::loader_scene {

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
    const Shape& shape = info_.sample_shape;
    picture.resize(static_cast<int>(shape[0]) + (reads_another_shape ? 1 : 0), static_cast<int>(shape[1]),
                   static_cast<int>(shape[2]));
    Philox random(5, RandomStream::synthetic, 0, static_cast<std::uint64_t>(sample));
    for (std::uint8_t& level : picture.pixels) level = static_cast<std::uint8_t>(random.next_u32());
  }

  void set_picture_shape(const Shape& shape) { info_.sample_shape = shape; }

  std::function<void(std::int64_t sample)> on_read;
  bool reads_another_shape = false;

 private:
  DatasetInfo info_;
};

class CountingMemory : public BufferSource {
 public:
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override {
    ++allocations;
    total_bytes += bytes;
    return host_.allocate(bytes);
  }
  int allocations = 0;
  std::size_t total_bytes = 0;

 private:
  HostMemory host_;
};

inline Transform transform_of(const Dataset& dataset) {
  TransformOptions options;
  options.image_size = kSize;
  options.augment = Augment::crop_flip;
  options.mean = dataset.info().channel_mean;
  options.std = dataset.info().channel_std;
  options.seed = 3;
  return Transform(options);
}

inline LoaderOptions options_of(int threads, std::int64_t rows, int pool_batches = 3) {
  LoaderOptions options;
  options.threads = threads;
  options.rows = rows;
  options.pool_batches = pool_batches;
  options.limit.timeout = seconds(60);
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
inline void expect_content(const Scene& scene, const Batch& batch, std::uint32_t epoch, std::int64_t index,
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

inline void expect_epoch(const Scene& scene, Loader& loader, std::uint32_t epoch, std::int64_t first = 0) {
  loader.start(epoch, first, scene.batches(), scene.requests());
  for (std::int64_t index = first; index < scene.batches(); ++index) {
    const auto batch = loader.next();
    ASSERT_NE(batch, nullptr) << "batch " << index;
    ASSERT_NO_FATAL_FAILURE(expect_content(scene, *batch, epoch, index, scene.requests()(index)));
  }
  EXPECT_EQ(loader.next(), nullptr);
  EXPECT_EQ(loader.next(), nullptr);
}

}  // namespace trireme::loader_scene
