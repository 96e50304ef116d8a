// SPDX-License-Identifier: Apache-2.0
#include "data/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/data/pictures.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_pictures;

Picture decoded(const Bytes& bytes) {
  Picture picture;
  decode_picture(bytes, picture);
  return picture;
}

int largest_difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    largest = std::max(largest, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  return largest;
}

Picture flat(int height, int width, const Bytes& pixel) {
  Picture picture;
  picture.resize(height, width, static_cast<int>(pixel.size()));
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = pixel[i % pixel.size()];
  return picture;
}

TEST(Codec, JpegOfGreyAndRgbDecodes) {
  const Picture grey = flat(17, 23, {100});
  const Picture rgb = flat(17, 23, {200, 100, 50});
  EXPECT_LE(largest_difference(decoded(jpeg_of(grey)), grey), 1);
  EXPECT_LE(largest_difference(decoded(jpeg_of(rgb, 100)), rgb), 2);
  EXPECT_EQ(decoded(jpeg_of(rgb)).height, 17);
  EXPECT_EQ(decoded(jpeg_of(rgb)).width, 23);
}

TEST(Codec, CmykJpegWithInvertedInkBecomesRgb) {
  // Inverted: 255 is no ink. Red is full magenta and yellow.
  const Bytes red{255, 0, 0, 255};
  const Picture picture = flat(16, 16, red);
  const Picture result = decoded(jpeg_of(16, 16, 4, picture.pixels, 100));
  ASSERT_EQ(result.channels, 3);
  EXPECT_LE(largest_difference(result, flat(16, 16, {255, 0, 0})), 3);
}

TEST(Codec, PngIsExact) {
  for (const int channels : {1, 3}) {
    const Picture picture = make_picture(9, 13, channels, 5);
    EXPECT_EQ(decoded(png_of(picture)).pixels, picture.pixels);
    EXPECT_EQ(decoded(png_of(9, 13, channels, picture.pixels, 8, true)).pixels, picture.pixels)
        << "interlaced";
  }
}

TEST(Codec, PngWithAlphaIsLaidOnWhite) {
  const Bytes rgba{10, 20, 30, 255, 10, 20, 30, 0, 100, 0, 200, 128};
  EXPECT_THAT(decoded(png_of(1, 3, 4, rgba)).pixels, ElementsAre(10, 20, 30, 255, 255, 255, 177, 127, 227));
  const Bytes grey_alpha{50, 255, 50, 0};
  const Picture grey = decoded(png_of(1, 2, 2, grey_alpha));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_THAT(grey.pixels, ElementsAre(50, 255));
}

TEST(Codec, PngOf16BitsIsScaledTo8) {
  const Bytes values{0x00, 0x00, 0xff, 0xff,
                     0x80, 0x80, 0x12, 0xff};  // 0, 65535, 32896 = 128*257, 4863 = 18.9*257
  EXPECT_THAT(decoded(png_of(1, 4, 1, values, 16)).pixels, ElementsAre(0, 255, 128, 19));
}

TEST(Codec, PngPaletteBecomesRgb) {
  const Bytes palette{255, 0, 0, 0, 0, 255};
  EXPECT_THAT(decoded(palette_png_of(1, 3, palette, {1, 0, 1})).pixels,
              ElementsAre(0, 0, 255, 255, 0, 0, 0, 0, 255));
}

TEST(Codec, ProbeNeedsTheHeaderOnlyAndAgreesWithDecoding) {
  const std::vector<Bytes> files{jpeg_of(make_picture(33, 20, 1, 1)),
                                 jpeg_of(make_picture(33, 20, 3, 1)),
                                 jpeg_of(33, 20, 4, Bytes(33 * 20 * 4, 9), 90),
                                 png_of(make_picture(33, 20, 1, 1)),
                                 png_of(33, 20, 2, Bytes(33 * 20 * 2, 9)),
                                 png_of(33, 20, 4, Bytes(33 * 20 * 4, 9)),
                                 palette_png_of(33, 20, {1, 2, 3}, Bytes(33 * 20, 0))};
  for (const Bytes& file : files) {
    std::size_t needed = 8;
    while (!probe_picture(std::span(file).first(needed))) ++needed;
    EXPECT_LT(needed, file.size());
    const auto header = probe_picture(std::span(file).first(needed));
    const Picture picture = decoded(file);
    EXPECT_EQ(header->height, picture.height);
    EXPECT_EQ(header->width, picture.width);
    EXPECT_EQ(header->channels, picture.channels);
  }
}

TEST(Codec, EveryTruncationIsDamage) {
  const Bytes jpeg = jpeg_of(make_picture(40, 40, 3, 1));
  const Bytes png = png_of(make_picture(40, 40, 3, 1));
  for (const Bytes& whole : {jpeg, png})
    for (std::size_t size = 0; size < whole.size(); size += size < 700 ? 1 : 37) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(error_of([&] { decoded(part); }).status(), Status::bad_data)
          << size << " of " << whole.size();
    }
  const Bytes part(jpeg.begin(), jpeg.end() - 20);
  EXPECT_THAT(error_of([&] { decoded(part); }).what(), HasSubstr("remature end"));
}

TEST(Codec, ChangedPngDataIsDamage) {
  Bytes png = png_of(make_picture(40, 40, 3, 1));
  png[png.size() / 2] ^= 0x10;
  EXPECT_EQ(error_of([&] { decoded(png); }).status(), Status::bad_data);
}

TEST(Codec, RandomDamageNeverCrashes) {
  const Bytes jpeg = jpeg_of(make_picture(24, 24, 3, 1));
  const Bytes png = png_of(make_picture(24, 24, 3, 1));
  std::uint32_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes = i % 2 == 0 ? jpeg : png;
    for (int change = 0; change < 3; ++change) {
      state = state * 1664525U + 1013904223U;
      bytes[state % bytes.size()] = static_cast<std::uint8_t>(state >> 24);
    }
    Picture picture;
    const Error error = error_of([&] { decode_picture(bytes, picture); });
    EXPECT_TRUE(error.status() == Status::ok || error.status() == Status::bad_data);
  }
}

TEST(Codec, OtherFilesAreNamedAsSuch) {
  EXPECT_THAT(error_of([] { decoded(Bytes{}); }).what(), HasSubstr("empty file"));
  const Bytes gif{'G', 'I', 'F', '8', '9', 'a', 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(error_of([&] { decoded(gif); }).what(), HasSubstr("neither JPEG nor PNG"));
}

TEST(Codec, HugePicturesAreRefusedBeforeMemoryIsTaken) {
  Bytes png = png_of(make_picture(2, 2, 1, 1));
  for (const std::size_t at : {16U, 20U}) png[at + 1] = 0xff;
  EXPECT_THAT(error_of([&] { decoded(png); }).what(), HasSubstr("2^28"));
}

TEST(Codec, EncodingIsDeterministicAndClose) {
  for (const int channels : {1, 3}) {
    Picture picture;
    picture.resize(32, 24, channels);
    std::size_t i = 0;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 24; ++x)
        for (int c = 0; c < channels; ++c)
          picture.pixels[i++] = static_cast<std::uint8_t>(3 * y + 2 * x + 20 * c);
    const Bytes once = encode_jpeg(picture, 95);
    EXPECT_EQ(once, encode_jpeg(picture, 95));
    EXPECT_LE(largest_difference(decoded(once), picture), 6);
  }
}

TEST(Codec, NoiseAtFullQualityFits) {
  std::uint32_t state = 7;
  for (const int channels : {1, 3})
    for (const int side : {1, 17, 64}) {
      Picture picture;
      picture.resize(side, side, channels);
      for (std::uint8_t& value : picture.pixels)
        value = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
      EXPECT_EQ(decoded(encode_jpeg(picture, 100)).height, side);
    }
}

TEST(Codec, ChannelsConvert) {
  Picture grey = flat(1, 2, {77});
  convert_channels(grey, 3);
  EXPECT_THAT(grey.pixels, ElementsAre(77, 77, 77, 77, 77, 77));
  convert_channels(grey, 1);
  EXPECT_THAT(grey.pixels, ElementsAre(77, 77));
  Picture rgb = flat(1, 1, {255, 0, 0});
  convert_channels(rgb, 1);
  EXPECT_THAT(rgb.pixels, ElementsAre(76));  // 0.299 * 255 = 76.2
}

}  // namespace
}  // namespace trireme
