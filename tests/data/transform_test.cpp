// SPDX-License-Identifier: Apache-2.0
#include "data/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "data/framing.h"
#include "src/core/error.h"
#include "src/core/philox.h"

namespace trireme {
namespace {

Picture noise_picture(int height, int width, int channels, std::uint64_t seed = 1) {
  Picture picture;
  picture.resize(height, width, channels);
  Philox random(seed, RandomStream::synthetic, 0, 0);
  for (std::uint8_t& level : picture.pixels) level = static_cast<std::uint8_t>(random.next_u32());
  return picture;
}

TransformOptions options_for(int size, int channels, Augment augment = Augment::none) {
  TransformOptions options;
  options.image_size = size;
  options.channels = channels;
  options.augment = augment;
  options.mean = channels == 1 ? std::vector{0.3} : std::vector{0.5, 0.4, 0.1};
  options.std = channels == 1 ? std::vector{0.35} : std::vector{0.25, 0.2, 0.3};
  options.seed = 77;
  return options;
}

std::vector<float> applied(const Transform& transform, const Picture& picture, std::int64_t sample,
                           std::uint32_t epoch = 0) {
  const auto& options = transform.options();
  std::vector<float> out(static_cast<std::size_t>(options.image_size * options.image_size * options.channels),
                         99);
  transform.apply(picture, epoch, sample, out.data());
  return out;
}

/// Pixel by pixel what a transform without resizing should give: rows and columns outside are level 0.
std::vector<float> expected_window(const Picture& picture, const TransformOptions& options, int top, int left,
                                   bool flip) {
  std::vector<float> out;
  for (int y = 0; y < options.image_size; ++y)
    for (int x = 0; x < options.image_size; ++x)
      for (int c = 0; c < options.channels; ++c) {
        const int row = top + y, column = left + (flip ? options.image_size - 1 - x : x);
        const bool inside = row >= 0 && row < picture.height && column >= 0 && column < picture.width;
        const int channel = picture.channels == 1 ? 0 : c;
        const int level = inside ? picture.pixels[static_cast<std::size_t>(
                                       (row * picture.width + column) * picture.channels + channel)]
                                 : 0;
        out.push_back(static_cast<float>((level / 255.0 - options.mean[static_cast<std::size_t>(c)]) /
                                         options.std[static_cast<std::size_t>(c)]));
      }
  return out;
}

int below(std::uint32_t word, int bound) {
  return static_cast<int>(std::uint64_t{word} * static_cast<std::uint64_t>(bound) >> 32);
}

TEST(Augment, names_are_read_back) {
  std::set<std::string_view> names;
  for (const AugmentName& entry : augment_names()) {
    EXPECT_EQ(augment_name(entry.augment), entry.name);
    EXPECT_EQ(parse_augment(entry.name), entry.augment);
    EXPECT_FALSE(entry.help.empty());
    EXPECT_TRUE(names.insert(entry.name).second);
  }
  EXPECT_EQ(names.size(), 5U);
  EXPECT_EQ(parse_augment("crop_flip"), std::nullopt);
  EXPECT_EQ(parse_augment(""), std::nullopt);
}

TEST(Transform, normalises_a_picture_of_the_right_size_as_it_is) {
  for (const int channels : {1, 3})
    for (const bool training : {false, true}) {
      TransformOptions options = options_for(9, channels);
      options.training = training;
      const Picture picture = noise_picture(9, 9, channels);
      EXPECT_EQ(applied(Transform(options), picture, 3), expected_window(picture, options, 0, 0, false));
    }
}

TEST(Transform, only_centres_a_constant_channel) {
  TransformOptions options = options_for(2, 1);
  options.mean = {51 / 255.0};
  options.std = {0};
  Picture picture;
  picture.resize(2, 2, 1);
  std::ranges::fill(picture.pixels, std::uint8_t{51});
  EXPECT_THAT(applied(Transform(options), picture, 0), testing::Each(0.0F));
}

TEST(Transform, evaluation_resizes_the_shorter_side_and_crops_the_centre) {
  for (const auto& [height, width, resized_height, resized_width, top, left] :
       {std::tuple{50, 70, 32, 44, 2, 8},
        {70, 50, 44, 32, 8, 2},
        {32, 33, 32, 33, 2, 2},
        {20, 20, 32, 32, 2, 2}}) {
    TransformOptions options = options_for(28, 3, Augment::crop_flip);
    options.training = false;
    const Picture picture = noise_picture(height, width, 3);
    Picture resized;
    resize_bilinear(picture, resized_height, resized_width, resized);
    EXPECT_EQ(applied(Transform(options), picture, 0), expected_window(resized, options, top, left, false))
        << height << "x" << width;
  }
}

TEST(Transform, a_crop_ratio_of_one_keeps_the_whole_shorter_side) {
  TransformOptions options = options_for(16, 3);
  options.crop_ratio = 1;
  const Picture picture = noise_picture(40, 40, 3);
  Picture resized;
  resize_bilinear(picture, 16, 16, resized);
  EXPECT_EQ(applied(Transform(options), picture, 0), expected_window(resized, options, 0, 0, false));
}

TEST(Transform, flip_mirrors_every_second_picture) {
  const TransformOptions options = options_for(5, 3, Augment::flip);
  const Transform transform(options);
  const Picture picture = noise_picture(5, 5, 3);
  int flipped = 0;
  for (std::int64_t sample = 0; sample < 1000; ++sample) {
    const auto words = Philox(77, RandomStream::augmentation, 4, static_cast<std::uint64_t>(sample)).block(0);
    const bool flip = words[0] >= 0x80000000U;
    flipped += flip;
    ASSERT_EQ(applied(transform, picture, sample, 4), expected_window(picture, options, 0, 0, flip));
  }
  EXPECT_NEAR(flipped, 500, 5 * 16);
}

TEST(Transform, crop_pads_with_zero_pixels_and_flips_as_the_counters_say) {
  for (const auto& [size, padding] : {std::pair{32, 4}, {28, 3}, {4, 1}})
    for (const int channels : {1, 3})
      for (const Augment augment : {Augment::crop, Augment::crop_flip}) {
        const TransformOptions options = options_for(size, channels, augment);
        const Transform transform(options);
        const Picture picture = noise_picture(size, size, channels);
        std::map<int, int> tops, lefts;
        for (std::int64_t sample = 0; sample < 300; ++sample) {
          const auto words =
              Philox(77, RandomStream::augmentation, 9, static_cast<std::uint64_t>(sample)).block(0);
          const int top = below(words[1], 2 * padding + 1) - padding;
          const int left = below(words[2], 2 * padding + 1) - padding;
          const bool flip = augment == Augment::crop_flip && words[0] >= 0x80000000U;
          ASSERT_EQ(applied(transform, picture, sample, 9),
                    expected_window(picture, options, top, left, flip))
              << size << " sample " << sample;
          ++tops[top];
          ++lefts[left];
        }
        EXPECT_EQ(tops.size(), static_cast<std::size_t>(2 * padding + 1));
        EXPECT_EQ(lefts.size(), static_cast<std::size_t>(2 * padding + 1));
        EXPECT_EQ(tops.begin()->first, -padding);
      }
}

TEST(Transform, crop_of_a_resized_picture_stays_inside_it) {
  const TransformOptions options = options_for(28, 3, Augment::crop);
  const Picture picture = noise_picture(50, 70, 3);
  Picture resized;
  resize_bilinear(picture, 32, 44, resized);
  std::set<int> tops, lefts;
  for (std::int64_t sample = 0; sample < 300; ++sample) {
    const auto words = Philox(77, RandomStream::augmentation, 0, static_cast<std::uint64_t>(sample)).block(0);
    const int top = below(words[1], 5), left = below(words[2], 17);
    tops.insert(top);
    lefts.insert(left);
    ASSERT_EQ(applied(Transform(options), picture, sample),
              expected_window(resized, options, top, left, false));
  }
  EXPECT_EQ(tops.size(), 5U);
  EXPECT_EQ(lefts.size(), 17U);
}

TEST(Transform, resized_crop_resizes_its_window_and_flips) {
  const TransformOptions options = options_for(16, 3, Augment::resized_crop);
  const Transform transform(options);
  const Picture picture = noise_picture(37, 53, 3);
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    const Framing framing = frame_sample(37, 53, options, 2, sample);
    Picture cut, resized;
    cut.resize(framing.source_height, framing.source_width, 3);
    for (int y = 0; y < cut.height; ++y)
      std::copy_n(picture.pixels.begin() + ((framing.source_top + y) * 53 + framing.source_left) * 3,
                  cut.width * 3, cut.pixels.begin() + y * cut.width * 3);
    resize_bilinear(cut, 16, 16, resized);
    ASSERT_EQ(applied(transform, picture, sample, 2), expected_window(resized, options, 0, 0, framing.flip));
  }
}

TEST(Framing, resized_crop_follows_the_counters) {
  const TransformOptions options = options_for(16, 3, Augment::resized_crop);
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const Philox random(77, RandomStream::augmentation, 1, static_cast<std::uint64_t>(sample));
    const Framing framing = frame_sample(60, 40, options, 1, sample);
    EXPECT_EQ(framing.flip, random.block(0)[0] >= 0x80000000U);
    for (std::uint32_t attempt = 0; attempt < 10; ++attempt) {
      const auto words = random.block(1 + attempt);
      const double area = 60 * 40 * (0.08 + 0.92 * ((words[0] >> 8) / 16777216.0));
      const double ratio = 0.75 * std::pow(16.0 / 9.0, (words[1] >> 8) / 16777216.0);
      const int width = static_cast<int>(std::lround(std::sqrt(area * ratio)));
      const int height = static_cast<int>(std::lround(std::sqrt(area / ratio)));
      if (width > 40 || height > 60) continue;
      EXPECT_EQ(framing.source_width, width);
      EXPECT_EQ(framing.source_height, height);
      EXPECT_EQ(framing.source_top, below(words[2], 60 - height + 1));
      EXPECT_EQ(framing.source_left, below(words[3], 40 - width + 1));
      break;
    }
  }
}

TEST(Framing, resized_crop_covers_areas_and_ratios) {
  const TransformOptions options = options_for(16, 3, Augment::resized_crop);
  constexpr int kSide = 1000, kSamples = 4000;
  double smallest = 1, largest = 0, log_ratio = 0;
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const Framing framing = frame_sample(kSide, kSide, options, 0, sample);
    const double area = static_cast<double>(framing.source_height) * framing.source_width / kSide / kSide;
    const double ratio = static_cast<double>(framing.source_width) / framing.source_height;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    log_ratio += std::log(ratio) / kSamples;
    ASSERT_GT(ratio, 0.74);
    ASSERT_LT(ratio, 1.35);
    ASSERT_LE(framing.source_top + framing.source_height, kSide);
    ASSERT_LE(framing.source_left + framing.source_width, kSide);
  }
  EXPECT_NEAR(smallest, 0.08, 0.01);
  EXPECT_GT(largest, 0.9);
  EXPECT_NEAR(log_ratio, 0, 0.02);
}

TEST(Framing, resized_crop_of_a_narrow_picture_takes_the_centre) {
  const TransformOptions options = options_for(16, 3, Augment::resized_crop);
  const Framing wide = frame_sample(9, 4000, options, 0, 0);
  EXPECT_EQ(wide.source_height, 9);
  EXPECT_EQ(wide.source_width, 12);
  EXPECT_EQ(wide.source_top, 0);
  EXPECT_EQ(wide.source_left, (4000 - 12) / 2);
  const Framing high = frame_sample(4000, 9, options, 0, 0);
  EXPECT_EQ(high.source_height, 12);
  EXPECT_EQ(high.source_width, 9);
  EXPECT_EQ(high.source_top, (4000 - 12) / 2);
}

TEST(Transform, randomness_is_of_seed_epoch_and_sample) {
  TransformOptions options = options_for(32, 3, Augment::crop_flip);
  const Picture picture = noise_picture(32, 32, 3);
  const Transform transform(options);
  options.seed = 78;
  const Transform other_seed(options);
  const auto differing = [&](const Transform& a, std::uint32_t epoch_a, const Transform& b,
                             std::uint32_t epoch_b, std::int64_t shift) {
    int different = 0;
    for (std::int64_t sample = 0; sample < 50; ++sample)
      different += applied(a, picture, sample, epoch_a) != applied(b, picture, sample + shift, epoch_b);
    return different;
  };
  EXPECT_EQ(differing(transform, 1, transform, 1, 0), 0);
  EXPECT_GT(differing(transform, 1, transform, 2, 0), 40);
  EXPECT_GT(differing(transform, 1, transform, 1, 1), 40);
  EXPECT_GT(differing(transform, 1, other_seed, 1, 0), 40);
}

TEST(Transform, a_grey_picture_fills_all_channels) {
  const TransformOptions options = options_for(8, 3, Augment::crop_flip);
  const Picture grey = noise_picture(8, 8, 1);
  Picture rgb;
  rgb.resize(8, 8, 3);
  for (std::size_t i = 0; i < rgb.pixels.size(); ++i) rgb.pixels[i] = grey.pixels[i / 3];
  for (std::int64_t sample = 0; sample < 20; ++sample)
    EXPECT_EQ(applied(Transform(options), grey, sample), applied(Transform(options), rgb, sample));
  const TransformOptions resizing = options_for(20, 3);
  EXPECT_EQ(applied(Transform(resizing), grey, 0), applied(Transform(resizing), rgb, 0));
}

TEST(Transform, colours_become_luma) {
  TransformOptions options = options_for(2, 1);
  options.mean = {0};
  options.std = {1 / 255.0};
  Picture rgb;
  rgb.resize(2, 2, 3);
  rgb.pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
  EXPECT_THAT(applied(Transform(options), rgb, 0),
              testing::Pointwise(testing::FloatNear(1e-4F), {76.0F, 150.0F, 29.0F, 255.0F}));
}

TEST(Transform, reused_scratch_changes_nothing) {
  TransformScratch scratch;
  for (const Augment augment : {Augment::resized_crop, Augment::none, Augment::crop_flip}) {
    for (const auto& [height, width] : {std::pair{60, 41}, {12, 90}, {24, 24}, {31, 33}}) {
      for (const int channels : {1, 3}) {
        const Transform transform(options_for(24, 3, augment));
        const Picture picture = noise_picture(height, width, channels);
        std::vector<float> out(24 * 24 * 3);
        transform.apply(picture, 0, 5, out.data(), scratch);
        EXPECT_EQ(out, applied(transform, picture, 5));
      }
    }
  }
}

TEST(Transform, refuses_options_that_do_not_fit) {
  const auto status_of = [](TransformOptions options) {
    try {
      const Transform transform(std::move(options));
      return Status::ok;
    } catch (const Error& error) {
      return error.status();
    }
  };
  EXPECT_EQ(status_of(options_for(8, 3)), Status::ok);
  EXPECT_EQ(status_of(options_for(0, 3)), Status::configuration);
  TransformOptions options = options_for(8, 3);
  options.channels = 4;
  EXPECT_EQ(status_of(options), Status::configuration);
  options = options_for(8, 3);
  options.mean.pop_back();
  EXPECT_EQ(status_of(options), Status::configuration);
  for (const double ratio : {0.0, -1.0, 1.01, std::nan("")}) {
    options = options_for(8, 3);
    options.crop_ratio = ratio;
    EXPECT_EQ(status_of(options), Status::configuration);
  }
}

}  // namespace
}  // namespace trireme
