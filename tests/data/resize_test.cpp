// SPDX-License-Identifier: Apache-2.0
#include "data/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "src/core/error.h"
#include "tests/data/resize_golden.h"

namespace trireme {
namespace {

/// The formula of make_resize_golden.py.
Picture source_picture(int height, int width, int channels) {
  Picture picture;
  picture.resize(height, width, channels);
  std::size_t at = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c, ++at) {
        const auto noise = static_cast<std::uint32_t>(at * 2654435761U) >> 24;
        picture.pixels[at] = static_cast<std::uint8_t>(noise + static_cast<unsigned>(3 * y + 2 * x + 80 * c));
      }
  return picture;
}

int level_at(std::string_view hex, std::size_t index) {
  return std::stoi(std::string(hex.substr(2 * index, 2)), nullptr, 16);
}

TEST(Resize, is_within_one_level_of_pillow) {
  for (const ResizeGolden& golden : kResizeGolden) {
    Picture result;
    resize_bilinear(source_picture(golden.source_height, golden.source_width, golden.channels), golden.height,
                    golden.width, result);
    ASSERT_EQ(result.height, golden.height);
    ASSERT_EQ(result.width, golden.width);
    ASSERT_EQ(result.channels, golden.channels);
    ASSERT_EQ(result.pixels.size() * 2, golden.pixels.size());
    int worst = 0;
    for (std::size_t i = 0; i < result.pixels.size(); ++i)
      worst = std::max(worst, std::abs(result.pixels[i] - level_at(golden.pixels, i)));
    EXPECT_LE(worst, 1) << golden.source_height << "x" << golden.source_width << " to " << golden.height
                        << "x" << golden.width;
  }
}

TEST(Resize, to_the_same_size_copies) {
  const Picture source = source_picture(9, 6, 3);
  Picture result;
  resize_bilinear(source, 9, 6, result);
  EXPECT_EQ(result.pixels, source.pixels);
}

TEST(Resize, keeps_a_constant_picture_constant) {
  for (const int level : {0, 1, 128, 255}) {
    Picture source, result;
    source.resize(50, 37, 3);
    std::ranges::fill(source.pixels, static_cast<std::uint8_t>(level));
    resize_bilinear(source, 20, 61, result);
    EXPECT_TRUE(std::ranges::all_of(result.pixels, [&](int pixel) { return pixel == level; })) << level;
  }
}

TEST(Resize, of_a_part_is_that_part_of_the_whole) {
  ResizeScratch scratch;
  for (const int channels : {1, 3})
    for (const auto& [full_height, full_width] :
         {std::pair{12, 17}, {40, 17}, {12, 31}, {40, 31}, {90, 80}}) {
      const Picture source = source_picture(40, 31, channels);
      Picture whole, part;
      resize_bilinear(source, full_height, full_width, whole);
      const ResizeTarget target{full_height, full_width, 3, 5, 8, 9};
      resize_bilinear(PictureView(source), target, part, scratch);
      for (int y = 0; y < target.height; ++y)
        for (int i = 0; i < target.width * channels; ++i)
          ASSERT_EQ(part.pixels[static_cast<std::size_t>(y * target.width * channels + i)],
                    whole.pixels[static_cast<std::size_t>(
                        ((y + target.top) * full_width + target.left) * channels + i)])
              << full_height << "x" << full_width << " row " << y << " value " << i;
    }
}

TEST(Resize, of_a_window_sees_nothing_of_the_rest) {
  const Picture source = source_picture(30, 20, 3);
  Picture cut, expected, result;
  cut.resize(11, 9, 3);
  for (int y = 0; y < 11; ++y)
    std::copy_n(source.pixels.begin() + ((y + 6) * 20 + 4) * 3, 27, cut.pixels.begin() + y * 27);
  resize_bilinear(cut, 16, 5, expected);
  ResizeScratch scratch;
  resize_bilinear(PictureView(source).window(6, 4, 11, 9), {16, 5, 0, 0, 16, 5}, result, scratch);
  EXPECT_EQ(result.pixels, expected.pixels);
}

TEST(Resize, refuses_what_has_no_pixels) {
  Picture empty, result;
  EXPECT_THROW(resize_bilinear(empty, 4, 4, result), Error);
  EXPECT_THROW(resize_bilinear(source_picture(4, 4, 3), 0, 4, result), Error);
  EXPECT_THROW(PictureView(source_picture(4, 4, 3)).window(1, 0, 4, 4), Error);
}

}  // namespace
}  // namespace trireme
