// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/codec.h"
#include "data/pack.h"
#include "data/transform.h"
#include "src/core/hash.h"
#include "src/io/h5.h"
#include "tests/data/pack_folder.h"
#include "tests/data/pictures.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using namespace testing_pictures;

TEST_F(PackFolder, RawFileHoldsTheDocumentedObjects) {
  const Picture a = make_picture(4, 6, 3, 1), b = make_picture(4, 6, 3, 2), c = make_picture(4, 6, 3, 3);
  add("dog/1.png", a);
  add("cat/2.png", b);
  add("cat/sub/deep/1.png", c);
  PackOptions pack = options();
  pack.order = PackOrder::source;
  const PackSummary summary = pack_dataset(pack);
  EXPECT_EQ(summary.sample_shape, (Shape{4, 6, 3}));
  EXPECT_THAT(summary.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(summary.files.at(0).class_counts, ElementsAre(2, 1));
  EXPECT_EQ(summary.files[0].bytes, fs::file_size(folder_ / "out.h5"));

  const H5File file = H5File::open_read(folder_ / "out.h5");
  EXPECT_EQ(file.read_text_attribute("trireme_format"), "dataset");
  EXPECT_EQ(file.read_attribute<std::int64_t>("version"), 1);
  EXPECT_EQ(file.read_text_attribute("encoding"), "raw");
  EXPECT_THAT(file.read_attribute_array<std::int64_t>("sample_shape"), ElementsAre(4, 6, 3));
  EXPECT_EQ(file.read_attribute<std::int64_t>("num_samples"), 3);
  EXPECT_EQ(file.read_attribute<std::int64_t>("num_classes"), 2);
  EXPECT_THAT(file.read_strings("class_names"), ElementsAre("cat", "dog"));
  EXPECT_THAT(file.read_strings("source_paths"), ElementsAre("cat/2.png", "cat/sub/deep/1.png", "dog/1.png"));
  EXPECT_THAT(file.read<std::int32_t>("labels"), ElementsAre(0, 0, 1));
  EXPECT_EQ(file.open_dataset("images").shape(), (Shape{3, 4, 6, 3}));
  Bytes all = b.pixels;
  all.insert(all.end(), c.pixels.begin(), c.pixels.end());
  all.insert(all.end(), a.pixels.begin(), a.pixels.end());
  EXPECT_EQ(file.read<std::uint8_t>("images"), all);
  EXPECT_EQ(file.read<std::uint64_t>("sample_hash")[2], xxh3(a.pixels.data(), a.pixels.size()));

  const std::vector<double> mean = file.read<double>("channel_mean"),
                            deviation = file.read<double>("channel_std");
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0, squares = 0;
    for (std::size_t i = channel; i < all.size(); i += 3) sum += all[i] / 255.0;
    const double count = static_cast<double>(all.size()) / 3;
    for (std::size_t i = channel; i < all.size(); i += 3)
      squares += std::pow(all[i] / 255.0 - sum / count, 2);
    EXPECT_NEAR(mean[channel], sum / count, 1e-12);
    EXPECT_NEAR(deviation[channel], std::sqrt(squares / count), 1e-12);
  }
}

TEST_F(PackFolder, BytesDoNotDependOnTheNumberOfThreads) {
  for (unsigned i = 0; i < 60; ++i)
    add(fmt::format("class{}/{}.{}", i % 3, i, i % 2 == 0 ? "png" : "jpg"),
        i % 2 == 0 ? png_of(make_picture(20, 30, 3, i)) : jpeg_of(make_picture(20, 30, 3, i)));
  for (const Encoding encoding : {Encoding::raw, Encoding::jpeg}) {
    Bytes first;
    for (const int threads : {1, 2, 5}) {
      PackOptions pack = options();
      pack.encode = encoding;
      pack.threads = threads;
      pack.force = true;
      pack_dataset(pack);
      const Bytes bytes = read_file(pack.output);
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << threads << " threads";
    }
  }
}

TEST_F(PackFolder, ShuffledOrderIsSeededAndComplete) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < 40; ++i) {
    names.push_back(fmt::format("c{}/{}.png", i / 20, i));
    add(names.back(), make_picture(2, 2, 1, i));
  }
  const auto order = [&](std::uint64_t seed) {
    PackOptions pack = options();
    pack.seed = seed;
    pack.force = true;
    pack_dataset(pack);
    return H5File::open_read(pack.output).read_strings("source_paths");
  };
  const std::vector<std::string> first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(names));
}

TEST_F(PackFolder, ContentDecidesTheDecoder) {
  const Picture picture = make_picture(5, 5, 3, 1);
  add("a/really-png.jpg", png_of(picture));
  add("a/really-jpeg.png", jpeg_of(picture));
  add("a/no-extension", png_of(picture));
  EXPECT_EQ(pack_dataset(options()).files[0].num_samples, 3);
}

TEST_F(PackFolder, GreyAmongRgbBecomesRgb) {
  const Picture grey = make_picture(3, 3, 1, 1);
  add("a/grey.png", grey);
  PackOptions pack = options();
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{3, 3, 1}));
  add("a/rgb.png", make_picture(3, 3, 3, 1));
  pack.force = true;
  pack.order = PackOrder::source;
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{3, 3, 3}));
  const Bytes images = H5File::open_read(pack.output).read<std::uint8_t>("images");
  for (std::size_t i = 0; i < 27; ++i) EXPECT_EQ(images[i], grey.pixels[i / 3]);
}

TEST_F(PackFolder, JpegPicturesOfOneSizeAreSummedUpWithIt) {
  add("a/1.png", make_picture(20, 10, 3, 1));
  add("a/2.png", make_picture(30, 40, 3, 2));
  PackOptions pack = options();
  pack.encode = Encoding::jpeg;
  pack.size = PackSize{16, 24};
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{16, 24, 3}));
  EXPECT_THAT(H5File::open_read(pack.output).read_attribute_array<std::int64_t>("sample_shape"),
              ElementsAre(0, 0, 3));
}

TEST_F(PackFolder, JpegBytesAreKeptUntouched) {
  const Bytes small = jpeg_of(make_picture(20, 10, 3, 1)), large = jpeg_of(make_picture(30, 40, 1, 2));
  const Picture png = make_picture(16, 16, 3, 3);
  add("a/1.jpg", small);
  add("a/2.jpg", large);
  add("a/3.png", png);
  PackOptions pack = options();
  pack.encode = Encoding::jpeg;
  pack.order = PackOrder::source;
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{0, 0, 3}));
  const H5File file = H5File::open_read(pack.output);
  EXPECT_EQ(file.read_text_attribute("encoding"), "jpeg");
  const std::vector<std::uint64_t> offsets = file.read<std::uint64_t>("offsets");
  const Bytes blob = file.read<std::uint8_t>("blob");
  ASSERT_EQ(offsets.size(), 4U);
  EXPECT_EQ(offsets.back(), blob.size());
  const auto part = [&](std::size_t i) {
    return Bytes(blob.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                 blob.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
  };
  EXPECT_EQ(part(0), small);
  EXPECT_EQ(part(1), large);
  EXPECT_EQ(part(2), encode_jpeg(png, 95));
}

TEST_F(PackFolder, ResizeAndCropMakeOneShape) {
  const Picture wide = make_picture(20, 50, 3, 1), tall = make_picture(33, 20, 3, 2);
  add("a/1.png", wide);
  add("a/2.png", tall);
  PackOptions pack = options();
  pack.resize = 10;
  pack.crop = 8;
  pack.order = PackOrder::source;
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{8, 8, 3}));
  const Bytes images = H5File::open_read(pack.output).read<std::uint8_t>("images");
  Picture resized;
  resize_bilinear(wide, 10, 25, resized);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 24; ++x)
      ASSERT_EQ(images[static_cast<std::size_t>(y * 24 + x)],
                resized.pixels[static_cast<std::size_t>((y + 1) * 75 + 8 * 3 + x)]);
  pack.force = true;
  pack.resize = pack.crop = 0;
  pack.size = PackSize{7, 9};
  EXPECT_EQ(pack_dataset(pack).sample_shape, (Shape{7, 9, 3}));
  resize_bilinear(wide, 7, 9, resized);
  const Bytes sized = H5File::open_read(pack.output).read<std::uint8_t>("images");
  EXPECT_TRUE(std::equal(resized.pixels.begin(), resized.pixels.end(), sized.begin()));
}

TEST_F(PackFolder, HiddenFilesAreIgnoredAndLinkLoopsEnd) {
  add("a/1.png", make_picture(3, 3, 1, 1));
  add("a/.thumbs/2.png", make_picture(3, 3, 1, 1));
  add("a/.DS_Store", Bytes{1});
  add(".hidden/3.png", make_picture(3, 3, 1, 1));
  fs::create_directory_symlink("..", folder_ / "source/a/up");
  fs::create_directory_symlink(".", folder_ / "source/a/self");
  write_file(folder_ / "elsewhere/4.png", png_of(make_picture(3, 3, 1, 2)));
  fs::create_directory_symlink("../../elsewhere", folder_ / "source/a/linked");
  PackOptions pack = options();
  pack.order = PackOrder::source;
  const PackSummary summary = pack_dataset(pack);
  EXPECT_THAT(summary.class_names, ElementsAre("a"));
  EXPECT_THAT(H5File::open_read(pack.output).read_strings("source_paths"),
              ElementsAre("a/1.png", "a/linked/4.png"));
}

TEST_F(PackFolder, OrderIsBytewise) {
  for (const char* name : {"b/x.png", "B/x.png", "a10/x.png", "a2/x.png", "\xc3\xa9/x.png", "a2/Y.png"})
    add(name, make_picture(2, 2, 1, 1));
  PackOptions pack = options();
  pack.order = PackOrder::source;
  EXPECT_THAT(pack_dataset(pack).class_names, ElementsAre("B", "a10", "a2", "b", "\xc3\xa9"));
  EXPECT_THAT(H5File::open_read(pack.output).read_strings("source_paths"),
              ElementsAre("B/x.png", "a10/x.png", "a2/Y.png", "a2/x.png", "b/x.png", "\xc3\xa9/x.png"));
}

TEST_F(PackFolder, SeveralSourcesJoinTheirClasses) {
  write_file(folder_ / "source/one/cat/1.png", png_of(make_picture(2, 2, 1, 1)));
  write_file(folder_ / "source/two/cat/1.png", png_of(make_picture(2, 2, 1, 2)));
  write_file(folder_ / "source/two/dog/1.png", png_of(make_picture(2, 2, 1, 3)));
  PackOptions pack = options();
  pack.sources = {folder_ / "source/one", folder_ / "source/two/"};
  pack.order = PackOrder::source;
  EXPECT_THAT(pack_dataset(pack).class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(H5File::open_read(pack.output).read_strings("source_paths"),
              ElementsAre("one/cat/1.png", "two/cat/1.png", "two/dog/1.png"));
}

TEST_F(PackFolder, ASplitIsStratifiedAndDisjoint) {
  std::set<std::string> names;
  for (unsigned i = 0; i < 60; ++i) {
    const std::string name = fmt::format("{}/{}.png", i < 40 ? "a" : "b", i);
    add(name, make_picture(2, 2, 1, i));
    names.insert(name);
  }
  PackOptions pack = options("train.h5");
  pack.split = parse_split("val=0.1");
  const PackSummary summary = pack_dataset(pack);
  ASSERT_EQ(summary.files.size(), 2U);
  EXPECT_EQ(summary.files[1].path, folder_ / "train-val.h5");
  EXPECT_THAT(summary.files[0].class_counts, ElementsAre(36, 18));
  EXPECT_THAT(summary.files[1].class_counts, ElementsAre(4, 2));
  std::set<std::string> found;
  for (const PackedFile& file : summary.files)
    for (const std::string& name : H5File::open_read(file.path).read_strings("source_paths"))
      EXPECT_TRUE(found.insert(name).second) << name;
  EXPECT_EQ(found, names);
  // Which samples are taken does not depend on how the file is ordered.
  const auto val = H5File::open_read(summary.files[1].path).read_strings("source_paths");
  pack.order = PackOrder::source;
  pack.force = true;
  pack_dataset(pack);
  EXPECT_THAT(H5File::open_read(summary.files[1].path).read_strings("source_paths"),
              testing::UnorderedElementsAreArray(val));
}

TEST_F(PackFolder, ProgressCountsEverySample) {
  for (unsigned i = 0; i < 30; ++i) add(fmt::format("a/{}.png", i), make_picture(2, 2, 1, i));
  PackOptions pack = options();
  std::vector<std::int64_t> seen;
  pack.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 30);
    seen.push_back(done);
  };
  pack_dataset(pack);
  ASSERT_EQ(seen.size(), 31U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace trireme
