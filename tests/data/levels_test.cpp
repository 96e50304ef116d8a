// SPDX-License-Identifier: Apache-2.0
// Batches of levels: framed ones become, by the table, what normalised ones hold; stored ones are the file's.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/loader.h"
#include "src/core/error.h"
#include "src/core/philox.h"
#include "tests/data/loader_scene.h"

namespace trireme {
namespace {

using namespace loader_scene;

struct Case {
  int height, width, channels;  // of the picture
  int size, out_channels;
};

Picture noise_picture(const Case& c, std::uint64_t sample) {
  Picture picture;
  picture.resize(c.height, c.width, c.channels);
  Philox random(6, RandomStream::synthetic, 0, sample);
  // No level 0, so that it marks the margin.
  for (std::uint8_t& level : picture.pixels) level = static_cast<std::uint8_t>(1 + random.next_below(255));
  return picture;
}

Transform transform_of(const Case& c, Augment augment, bool training) {
  TransformOptions options;
  options.image_size = c.size;
  options.channels = c.out_channels;
  options.training = training;
  options.augment = augment;
  options.mean = c.out_channels == 1 ? std::vector{0.3} : std::vector{0.5, 0.4, 0.1};
  options.std = c.out_channels == 1 ? std::vector{0.35} : std::vector{0.25, 0.0, 0.3};
  options.seed = 12;
  return Transform(options);
}

void expect_levels_of_apply(const Case& c, const Transform& transform, std::int64_t sample) {
  const Picture picture = noise_picture(c, static_cast<std::uint64_t>(sample));
  const auto values = static_cast<std::size_t>(Shape{c.size, c.size, c.out_channels}.count());
  std::vector<float> normalised(values);
  std::vector<std::uint8_t> levels(values);
  TransformScratch scratch;
  transform.apply(picture, 2, sample, normalised.data(), scratch);
  transform.frame(picture, 2, sample, levels.data(), scratch);
  const std::span<const float> table = transform.normalised_levels();
  for (std::size_t i = 0; i < values; ++i)
    ASSERT_EQ(table[i % static_cast<std::size_t>(c.out_channels) * 256 + levels[i]], normalised[i])
        << "value " << i << " of sample " << sample;
}

TEST(Levels, by_the_table_they_are_what_is_normalised) {
  const std::vector<Case> cases{{12, 12, 3, 12, 3}, {12, 12, 1, 12, 3}, {12, 12, 3, 12, 1},
                                {12, 12, 1, 12, 1}, {31, 20, 3, 13, 3}, {9, 40, 1, 13, 3},
                                {17, 15, 3, 24, 1}, {5, 5, 3, 1, 3}};
  for (const Case& c : cases)
    for (const AugmentName& augment : augment_names())
      for (const bool training : {true, false}) {
        SCOPED_TRACE(testing::Message() << c.height << "x" << c.width << "x" << c.channels << " to " << c.size
                                        << "x" << c.out_channels << " " << augment.name);
        const Transform transform = transform_of(c, augment.augment, training);
        for (std::int64_t sample = 0; sample < 12; ++sample)
          ASSERT_NO_FATAL_FAILURE(expect_levels_of_apply(c, transform, sample));
      }
}

TEST(Levels, a_margin_is_of_level_zero) {
  const Case c{16, 16, 3, 16, 3};
  const Transform transform = transform_of(c, Augment::crop, true);
  std::vector<std::uint8_t> levels(16 * 16 * 3);
  TransformScratch scratch;
  int with_margin = 0;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    transform.frame(noise_picture(c, sample), 0, static_cast<std::int64_t>(sample), levels.data(), scratch);
    with_margin += std::ranges::count(levels, 0) > 0;
  }
  EXPECT_GT(with_margin, 10);
}

/// Row by row what `expected` says of the sample, then zeros.
template <typename Expected>
void expect_levels(const Scene& scene, const Batch& batch, const Shape& picture, const Expected& expected) {
  ASSERT_EQ(batch.images.dtype, DType::u8);
  ASSERT_EQ(batch.images.shape, picture.with_outer(scene.options.rows));
  const std::int64_t bytes = picture.count();
  for (std::int64_t row = 0; row < scene.options.rows; ++row) {
    const std::int64_t sample = batch.sample_ids[row];
    ASSERT_EQ(sample >= 0, row < batch.valid);
    const std::vector<std::uint8_t> wanted =
        sample < 0 ? std::vector<std::uint8_t>(static_cast<std::size_t>(bytes)) : expected(sample);
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), batch.images.as<std::uint8_t>() + row * bytes))
        << "row " << row << " of batch " << batch.index;
  }
}

LoaderOptions level_options(PixelFormat pixels) {
  LoaderOptions options = options_of(2, 8);
  options.pixels = pixels;
  return options;
}

/// Two epochs, so that padding rows lie where pictures were.
template <typename Expected>
void expect_epochs(Scene& scene, const Shape& picture, const Expected& expected) {
  const auto loader = scene.make();
  for (const std::uint32_t epoch : {0U, 1U}) {
    loader->start(epoch, 0, scene.batches(), scene.requests());
    for (std::int64_t index = 0; index < scene.batches(); ++index) {
      const auto batch = loader->next();
      ASSERT_NO_FATAL_FAILURE(expect_levels(scene, *batch, picture, [&](std::int64_t sample) {
        Picture stored;
        scene.dataset.read(sample, stored);
        return expected(stored, epoch, sample);
      }));
    }
  }
}

TEST(Levels, a_loader_delivers_them_framed) {
  Scene scene(29, level_options(PixelFormat::framed_levels));
  const Transform transform = loader_scene::transform_of(scene.dataset);
  expect_epochs(scene, {kSize, kSize, kChannels},
                [&](const Picture& stored, std::uint32_t epoch, std::int64_t sample) {
                  std::vector<std::uint8_t> levels(kRowValues);
                  TransformScratch scratch;
                  transform.frame(stored, epoch, sample, levels.data(), scratch);
                  return levels;
                });
}

TEST(Levels, a_loader_delivers_them_as_they_are_stored) {
  Scene scene(29, level_options(PixelFormat::stored_levels));
  scene.dataset.set_picture_shape({5, 7, 1});
  expect_epochs(scene, {5, 7, 1},
                [&](const Picture& stored, std::uint32_t, std::int64_t) { return stored.pixels; });
}

TEST(Levels, take_a_quarter_of_the_memory) {
  const auto bytes = [](PixelFormat pixels) {
    Scene scene(64, options_of(1, 64, 2));
    scene.options.pixels = pixels;
    const auto loader = scene.make();
    return scene.memory.total_bytes;
  };
  const std::size_t beside = 2 * 64 * (sizeof(std::int32_t) + sizeof(std::int64_t));
  const std::size_t normalised = bytes(PixelFormat::normalised) - beside;
  EXPECT_EQ(normalised, 4 * (bytes(PixelFormat::framed_levels) - beside));
  EXPECT_EQ(normalised, 4 * (bytes(PixelFormat::stored_levels) - beside));
}

TEST(Levels, pictures_of_many_shapes_are_not_delivered_as_stored) {
  Scene scene(29, level_options(PixelFormat::stored_levels));
  scene.dataset.set_picture_shape({0, 0, 3});
  EXPECT_FALSE(scene.dataset.info().has_one_shape());
  EXPECT_THROW(scene.make(), Error);
}

TEST(Levels, a_picture_of_another_shape_is_an_error_where_stored_ones_are_delivered) {
  Scene scene(29, level_options(PixelFormat::stored_levels));
  scene.dataset.reads_another_shape = true;
  const auto loader = scene.make();
  loader->start(0, 0, scene.batches(), scene.requests());
  EXPECT_THROW(loader->next(), Error);
}

}  // namespace
}  // namespace trireme
