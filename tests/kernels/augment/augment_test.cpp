// SPDX-License-Identifier: Apache-2.0
// Augmentation on the device against the host's transform, bit for bit: every kind, channel combination and
// layout, with and without resizing. 16-bit output is the host's number rounded.
#include "kernels/augment/augment.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "data/framing.h"
#include "data/transform.h"
#include "src/core/philox.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

struct Case {
  int height = 8, width = 8, channels = 3, size = 8, out_channels = 3, pitch = 8;
  Augment kind = Augment::none;
  int batch = 6;
  std::int64_t valid = 1 << 20, first_sample = 0;
  std::uint32_t epoch = 0;
  double crop_ratio = 0.875;
};

TransformOptions host_options(const Case& c) {
  TransformOptions options;
  options.image_size = c.size;
  options.channels = c.out_channels;
  options.augment = c.kind;
  options.mean = c.out_channels == 1 ? std::vector{0.3} : std::vector{0.5, 0.4, 0.1};
  options.std = c.out_channels == 1 ? std::vector{0.35} : std::vector{0.25, 0.0, 0.3};
  options.seed = 0x123456789ABCDEFULL;
  options.crop_ratio = c.crop_ratio;
  return options;
}

std::vector<Picture> pictures_of(const Case& c) {
  std::vector<Picture> pictures(static_cast<std::size_t>(c.batch));
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    pictures[n].resize(c.height, c.width, c.channels);
    trireme::Philox random(5, RandomStream::synthetic, 0, n);
    for (std::uint8_t& level : pictures[n].pixels) level = static_cast<std::uint8_t>(random.next_u32());
  }
  return pictures;
}

/// [batch, size, size, pitch]
template <typename T>
std::vector<T> on_device(const Case& c, const std::vector<Picture>& pictures,
                         const std::vector<std::int64_t>& samples) {
  const TransformOptions options = host_options(c);
  std::vector<std::uint8_t> bytes;
  for (const Picture& picture : pictures)
    bytes.insert(bytes.end(), picture.pixels.begin(), picture.pixels.end());
  const DeviceArray<std::uint8_t> device_pictures(bytes);
  const DeviceArray<std::int64_t> ids(samples);
  const DeviceArray<float> levels(normalised_levels(options.mean, options.std));
  const DeviceArray<StepValues> step(
      std::vector{StepValues{.seed = options.seed, .valid_samples = c.valid, .epoch = c.epoch}});
  DeviceArray<T> out(static_cast<std::size_t>(c.batch * c.size * c.size * c.pitch));
  augment<T>({c.batch, c.height, c.width, c.channels, c.size, c.out_channels, c.pitch},
             {static_cast<AugmentKind>(c.kind), c.crop_ratio},
             {device_pictures.data(), ids.data(), levels.data(), step.data(), out.data()}, nullptr);
  return out.to_host();
}

template <typename T>
std::vector<T> on_host(const Case& c, const std::vector<Picture>& pictures,
                       const std::vector<std::int64_t>& samples) {
  const Transform transform(host_options(c));
  const auto pixels = static_cast<std::size_t>(c.size * c.size),
             channels = static_cast<std::size_t>(c.out_channels), pitch = static_cast<std::size_t>(c.pitch);
  std::vector<T> out(pictures.size() * pixels * pitch, from_float<T>(0.0F));
  std::vector<float> dense(pixels * channels);
  for (std::size_t n = 0; n < pictures.size() && static_cast<std::int64_t>(n) < c.valid; ++n) {
    transform.apply(pictures[n], c.epoch, samples[n], dense.data());
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t k = 0; k < channels; ++k)
        out[(n * pixels + p) * pitch + k] = from_float<T>(dense[p * channels + k]);
  }
  return out;
}

template <typename T>
void expect_host(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.height << "x" << c.width << "x" << c.channels << " to " << c.size
                                  << "x" << c.out_channels << " pitch " << c.pitch << " "
                                  << augment_name(c.kind) << " epoch " << c.epoch);
  const auto pictures = pictures_of(c);
  std::vector<std::int64_t> samples;
  for (int n = 0; n < c.batch; ++n) samples.push_back(c.first_sample + 7 * n);
  const auto actual = on_device<T>(c, pictures, samples), expected = on_host<T>(c, pictures, samples);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
    ASSERT_EQ(std::bit_cast<Bits>(actual[i]), std::bit_cast<Bits>(expected[i]))
        << "element " << i << ": " << to_float(actual[i]) << " instead of " << to_float(expected[i]);
  }
}

constexpr Augment kKinds[] = {Augment::none, Augment::flip, Augment::crop, Augment::crop_flip,
                              Augment::resized_crop};

template <typename T>
class AugmentKernel : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(AugmentKernel, Types);

TYPED_TEST(AugmentKernel, PicturesOfTheNetsSize) {
  for (const Augment kind : kKinds)
    for (const int size : {1, 7, 8, 32})
      expect_host<TypeParam>({.height = size, .width = size, .size = size, .kind = kind});
}

TYPED_TEST(AugmentKernel, PicturesThatShrink) {
  for (const Augment kind : kKinds) {
    expect_host<TypeParam>({.height = 19, .width = 26, .size = 12, .kind = kind});
    expect_host<TypeParam>({.height = 61, .width = 40, .size = 9, .kind = kind});
    expect_host<TypeParam>({.height = 200, .width = 150, .size = 5, .kind = kind, .batch = 2});
  }
}

TYPED_TEST(AugmentKernel, PicturesThatGrow) {
  for (const Augment kind : kKinds) {
    expect_host<TypeParam>({.height = 5, .width = 6, .size = 17, .kind = kind});
    expect_host<TypeParam>({.height = 1, .width = 1, .size = 6, .kind = kind});
  }
}

TYPED_TEST(AugmentKernel, OneAxisThatKeepsItsSize) {
  for (const Augment kind : kKinds)
    expect_host<TypeParam>({.height = 12, .width = 31, .size = 12, .kind = kind, .crop_ratio = 1});
}

TYPED_TEST(AugmentKernel, RatiosThatNoRandomWindowFits) {
  expect_host<TypeParam>({.height = 90, .width = 3, .size = 6, .kind = Augment::resized_crop});
  expect_host<TypeParam>({.height = 2, .width = 77, .size = 6, .kind = Augment::resized_crop});
}

TYPED_TEST(AugmentKernel, GreyAndColour) {
  for (const int channels : {1, 3})
    for (const int out_channels : {1, 3})
      for (const Augment kind : {Augment::crop_flip, Augment::resized_crop})
        for (const int size : {11, 14})
          expect_host<TypeParam>({.height = 14,
                                  .width = 14,
                                  .channels = channels,
                                  .size = size,
                                  .out_channels = out_channels,
                                  .kind = kind});
}

TYPED_TEST(AugmentKernel, EveryPitch) {
  for (const int pitch : {4, 8, 24})
    for (const int size : {9, 10}) {
      expect_host<TypeParam>({.size = size, .pitch = pitch, .kind = Augment::resized_crop});
      expect_host<TypeParam>({.size = size, .out_channels = 1, .pitch = pitch, .valid = 1});
    }
}

TYPED_TEST(AugmentKernel, PaddingRowsAreZero) {
  for (const std::int64_t valid : {0, 1, 2})
    expect_host<TypeParam>(
        {.height = 9, .width = 9, .pitch = 4, .kind = Augment::resized_crop, .valid = valid});
}

TYPED_TEST(AugmentKernel, EpochsAndLargeSampleIds) {
  for (const std::uint32_t epoch : {0U, 1U, 0xFFFFFFFFU})
    for (const std::int64_t first : {0LL, (1LL << 33) + 5, (1LL << 47) + 1})
      expect_host<TypeParam>({.height = 14,
                              .width = 14,
                              .size = 10,
                              .kind = Augment::resized_crop,
                              .first_sample = first,
                              .epoch = epoch});
}

TEST(AugmentKernel, TheCasesAboveSeeFlipsCropsAndWindows) {
  TransformOptions options =
      host_options({.height = 14, .width = 14, .size = 10, .kind = Augment::resized_crop});
  std::set<int> widths, flips;
  for (std::int64_t sample = 0; sample < 6; ++sample) {
    const auto framing = frame_sample(14, 14, options, 0, 7 * sample);
    widths.insert(framing.source_width);
    flips.insert(framing.flip ? 1 : 0);
  }
  EXPECT_GE(widths.size(), 2U);
  EXPECT_EQ(flips.size(), 2U);
}

TEST(AugmentKernel, RefusesWhatItCannotDo) {
  const auto run = [](const AugmentShape& shape) { augment<BFloat16>(shape, {}, {}, nullptr); };
  EXPECT_THROW(run({1, 8, 8, 3, 8, 3, 12}), std::invalid_argument);
  EXPECT_THROW(run({1, 8, 8, 3, 8, 3, 0}), std::invalid_argument);
  EXPECT_THROW(run({1, 8, 8, 2, 8, 3, 8}), std::invalid_argument);
  EXPECT_THROW(run({1, 0, 8, 3, 8, 3, 8}), std::invalid_argument);
  EXPECT_THROW(run({1, 8, 100'000, 3, 8, 3, 8}), std::invalid_argument);
}

template <typename T>
class LayersAugment : public testing::Test {};
TYPED_TEST_SUITE(LayersAugment, Types);

TYPED_TEST(LayersAugment, ImageNet) {
  for (const Augment kind : {Augment::none, Augment::resized_crop}) {
    expect_host<TypeParam>({.height = 256, .width = 256, .size = 224, .pitch = 4, .kind = kind, .batch = 2});
    expect_host<TypeParam>({.height = 512, .width = 480, .size = 224, .pitch = 8, .kind = kind, .batch = 1});
  }
}

TYPED_TEST(LayersAugment, Cifar) {
  for (const Augment kind : kKinds)
    expect_host<TypeParam>({.height = 32, .width = 32, .size = 32, .kind = kind, .batch = 32});
}

}  // namespace
}  // namespace trireme::kernels
