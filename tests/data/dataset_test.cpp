// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "data/codec.h"
#include "data/pack.h"
#include "tests/data/packing.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_pictures;

Bytes pixels_of(const Dataset& dataset, std::int64_t sample) {
  Picture picture;
  dataset.read(sample, picture);
  EXPECT_EQ(picture.channels, dataset.info().channels());
  return picture.pixels;
}

TEST(PackedDataset, ReadsWhatWasPacked) {
  const TemporaryFolder folder;
  std::vector<Picture> pictures;
  for (unsigned i = 0; i < 10; ++i) {
    pictures.push_back(make_picture(5, 7, 3, i));
    write_file(folder / fmt::format("source/c{}/{}.png", i / 5, i), png_of(pictures[i]));
  }
  PackOptions pack;
  pack.sources = {folder / "source"};
  pack.output = folder / "a.h5";
  pack.order = PackOrder::source;
  pack_dataset(pack);
  const auto dataset = open_alone(pack.output);
  const DatasetInfo& info = dataset->info();
  EXPECT_EQ(info.name, pack.output);
  EXPECT_FALSE(info.synthetic);
  EXPECT_EQ(info.num_samples, 10);
  EXPECT_EQ(info.sample_shape, (Shape{5, 7, 3}));
  EXPECT_THAT(info.class_names, ElementsAre("c0", "c1"));
  EXPECT_EQ(info.channel_mean.size(), 3U);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(pixels_of(*dataset, i), pictures[static_cast<std::size_t>(i)].pixels);
    EXPECT_EQ(dataset->label(i), i / 5);
  }
}

TEST(PackedDataset, DecodesJpegToTheDatasetsChannels) {
  const TemporaryFolder folder;
  const Bytes grey = jpeg_of(make_picture(8, 9, 1, 1)), rgb = jpeg_of(make_picture(10, 6, 3, 2));
  write_file(folder / "source/a/1.jpg", grey);
  write_file(folder / "source/a/2.jpg", rgb);
  PackOptions pack;
  pack.sources = {folder / "source"};
  pack.output = folder / "a.h5";
  pack.order = PackOrder::source;
  pack.encode = Encoding::jpeg;
  pack_dataset(pack);
  const auto dataset = open_alone(pack.output);
  Picture expected;
  decode_picture(grey, expected);
  convert_channels(expected, 3);
  EXPECT_EQ(pixels_of(*dataset, 0), expected.pixels);
  decode_picture(rgb, expected);
  EXPECT_EQ(pixels_of(*dataset, 1), expected.pixels);
}

TEST(PackedDataset, SeveralFilesAreOneInOrderOfTheirNames) {
  const TemporaryFolder folder;
  Contents contents;
  contents.mean = {0.2};
  contents.deviation = {0.1};
  write_contents(folder / "b.h5", contents);
  contents.num_samples = 2;
  contents.images = Shape{2, 2, 3, 1};
  contents.pixels = Bytes(12, 200);
  contents.labels = {1, 1};
  contents.mean = {0.8};
  contents.deviation = {0.3};
  write_contents(folder / "a,1.h5", contents);
  for (const std::string& spec : {folder / "*.h5", (folder / "b.h5") + "," + (folder / "a?1.h5")}) {
    const auto dataset = open_alone(spec);
    EXPECT_EQ(dataset->info().num_samples, 6);
    EXPECT_THAT(pixels_of(*dataset, 1), ElementsAre(200, 200, 200, 200, 200, 200));
    EXPECT_THAT(pixels_of(*dataset, 2), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(pixels_of(*dataset, 5), ElementsAre(18, 19, 20, 21, 22, 23));
    EXPECT_EQ(dataset->label(1), 1);
    EXPECT_EQ(dataset->label(2), 0);
    // 2 of 6 around 0.8, 4 of 6 around 0.2.
    EXPECT_NEAR(dataset->info().channel_mean[0], 0.4, 1e-12);
    const double square = (2 * (0.64 + 0.09) + 4 * (0.04 + 0.01)) / 6;
    EXPECT_NEAR(dataset->info().channel_std[0], std::sqrt(square - 0.16), 1e-12);
  }
  EXPECT_EQ(open_alone(folder / "a,1.h5")->info().num_samples, 2) << "a name with a comma";
  EXPECT_EQ(error_of([&] { open_alone((folder / "b.h5") + "," + (folder / "b.h5")); }).status(),
            Status::configuration);
  EXPECT_EQ(error_of([&] { open_alone((folder / "b.h5") + ",,"); }).status(), Status::usage);
  EXPECT_EQ(error_of([&] { open_alone(folder / "z*.h5"); }).status(), Status::input_missing);
  EXPECT_EQ(error_of([&] { open_alone(""); }).status(), Status::usage);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += fmt::format("{},", folder / "b.h5");
  EXPECT_EQ(error_of([&] { open_alone(many + (folder / "b.h5")); }).status(), Status::configuration)
      << "a list that is too long to be a path";
}

TEST(PackedDataset, FilesThatDoNotBelongTogetherAreRefused) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  const auto expect_refused = [&](const Contents& other, const char* reason) {
    write_contents(folder / "b.h5", other);
    const Error error = error_of([&] { open_alone(folder / "?.h5"); });
    EXPECT_EQ(error.status(), Status::bad_data);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(reason), HasSubstr("b.h5")));
  };
  Contents other;
  other.class_names = {"cat", "horse"};
  expect_refused(other, "class 1 is 'dog'");
  other = {};
  other.num_classes = 3;
  other.class_names = {"cat", "dog", "horse"};
  expect_refused(other, "'horse'");
  other = {};
  other.images = Shape{4, 3, 2, 1};
  other.sample_shape = {3, 2, 1};
  expect_refused(other, "pictures of [2,3,1] and of [3,2,1]");
}

TEST(PackedDataset, FingerprintIsOfTheContent) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  fs::copy(folder / "a.h5", folder / "copy.h5");
  const auto fingerprint = [&](const char* name) { return open_alone(folder / name)->info().fingerprint; };
  EXPECT_EQ(fingerprint("a.h5"), fingerprint("copy.h5"));
  Contents other;
  other.labels[0] = 1;
  write_contents(folder / "b.h5", other);
  EXPECT_NE(fingerprint("a.h5"), fingerprint("b.h5"));
  other = {};
  other.hashes = {1, 2, 3, 4};
  write_contents(folder / "b.h5", other);
  EXPECT_NE(fingerprint("a.h5"), fingerprint("b.h5"));
}

TEST(PackedDataset, EveryWrongFileIsStatus65AndSaysWhy) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const auto expect_bad = [&](const Contents& contents, const char* reason) {
    write_contents(path, contents);
    const Error error = error_of([&] { open_alone(path); });
    EXPECT_EQ(error.status(), Status::bad_data) << reason;
    EXPECT_THAT(error.what(), AllOf(HasSubstr(reason), HasSubstr(path)));
  };
  const auto changed = [](const std::function<void(Contents&)>& change) {
    Contents contents;
    change(contents);
    return contents;
  };
  expect_bad(changed([](Contents& c) { c.format = "checkpoint"; }), "a trireme checkpoint");
  expect_bad(changed([](Contents& c) { c.version = 2; }), "pack it again with this trireme");
  expect_bad(changed([](Contents& c) { c.encoding = "webp"; }), "'webp'");
  expect_bad(changed([](Contents& c) { c.sample_shape = {2, 3}; }), "sample_shape");
  expect_bad(changed([](Contents& c) { c.sample_shape = {2, 3, 2}; }), "sample_shape");
  expect_bad(changed([](Contents& c) { c.sample_shape = {3, 2, 1}; }), "[4,2,3,1], expected [4,3,2,1]");
  expect_bad(changed([](Contents& c) { c.num_samples = 0; }), "no samples");
  expect_bad(changed([](Contents& c) { c.num_samples = 5; }), "/labels has shape [4], expected [5]");
  expect_bad(changed([](Contents& c) { c.num_classes = 3; }), "3 classes");
  expect_bad(changed([](Contents& c) { c.labels[2] = 2; }), "sample 2 has label 2");
  expect_bad(changed([](Contents& c) { c.labels[2] = 2; }), "hint: labels count from 0");
  expect_bad(changed([](Contents& c) { c.class_names = {"cat", "cat"}; }), "/class_names has 'cat' twice");
  expect_bad(changed([](Contents& c) { c.labels[3] = -1; }), "sample 3 has label -1");
  expect_bad(changed([](Contents& c) { c.mean = {0.5, 0.5}; }), "/channel_mean");
  for (const double value : {-0.1, 1.1, 127.0, std::nan("")}) {
    expect_bad(changed([&](Contents& c) { c.mean = {value}; }), "/channel_mean holds");
    expect_bad(changed([&](Contents& c) { c.deviation = {value}; }), "/channel_std holds");
  }
  expect_bad(changed([](Contents& c) { c.hashes = {1, 2}; }), "/sample_hash");
  const auto jpeg = [](std::vector<std::uint64_t> offsets) {
    Contents contents;
    contents.encoding = "jpeg";
    contents.sample_shape = {0, 0, 1};
    contents.offsets = std::move(offsets);
    return contents;
  };
  expect_bad(jpeg({0, 1, 2, 24}), "/offsets has shape [4], expected [5]");
  expect_bad(jpeg({0, 5, 3, 10, 24}), "/offsets does not divide");
  expect_bad(jpeg({1, 5, 6, 10, 24}), "/offsets does not divide");
  expect_bad(jpeg({0, 5, 6, 10, 25}), "/offsets does not divide");

  EXPECT_EQ(error_of([&] { open_alone(folder / "absent.h5"); }).status(), Status::input_missing);
  write_file(folder / "text.h5", "no");
  EXPECT_THAT(error_of([&] { open_alone(folder / "text.h5"); }).what(), HasSubstr("not an HDF5 file"));
  H5File::create(folder / "plain.h5").close();
  EXPECT_THAT(error_of([&] { open_alone(folder / "plain.h5"); }).what(), HasSubstr("not a trireme dataset"));
  write_contents(path, {});
  fs::resize_file(path, fs::file_size(path) - 1);
  const Error truncated = error_of([&] { open_alone(path); });
  EXPECT_EQ(truncated.status(), Status::bad_data);
  EXPECT_THAT(truncated.what(), AllOf(HasSubstr("truncated"), HasSubstr("copy or pack it again")));
}

TEST(PackedDataset, StatisticsAtTheEndsOfTheirRangeAreFine) {
  const TemporaryFolder folder;
  Contents contents;
  for (const double value : {0.0, 1.0}) {
    contents.mean = contents.deviation = {value};
    write_contents(folder / "a.h5", contents);
    const auto dataset = open_alone(folder / "a.h5");
    EXPECT_EQ(dataset->info().channel_mean[0], value);
    EXPECT_EQ(dataset->info().channel_std[0], 1) << "also for 0: a channel that never changes is not scaled";
  }
}

TEST(PackedDataset, DamageWhileReadingNamesFileAndSample) {
  const TemporaryFolder folder;
  Contents contents;
  contents.encoding = "jpeg";
  contents.sample_shape = {0, 0, 1};
  contents.offsets = {0, 5, 6, 10, 24};
  write_contents(folder / "a.h5", contents);
  const auto dataset = open_alone(folder / "a.h5");
  const Error damage = error_of([&] { pixels_of(*dataset, 2); });
  EXPECT_EQ(damage.status(), Status::bad_data);
  EXPECT_THAT(damage.what(), AllOf(HasSubstr("sample 2"), HasSubstr("a.h5")));

  contents = {};
  contents.num_samples = 100000;
  contents.images = Shape{100000, 2, 3, 1};
  contents.labels.assign(100000, 0);
  write_contents(folder / "b.h5", contents);
  const auto cut = open_alone(folder / "b.h5");
  fs::resize_file(folder / "b.h5", 200000);
  const Error early = error_of([&] { pixels_of(*cut, 99999); });
  EXPECT_EQ(early.status(), Status::bad_data);
  EXPECT_THAT(early.what(), AllOf(HasSubstr("ends early"), HasSubstr("sample 99999"), HasSubstr("b.h5")));
}

/// A node of two ranks, one after the other: what the opener broadcasts reaches the other.
struct TwoRanks {
  std::vector<std::byte> carried;
  NodeShare opener{true, [this](std::vector<std::byte> bytes) { return carried = std::move(bytes); }};
  NodeShare other{false, [this](const std::vector<std::byte>&) { return carried; }};
};

TEST(PackedDataset, OtherRanksReadWithoutHdf5) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  TwoRanks node;
  const auto first = open_dataset(folder / "a.h5", node.opener, {});
  const auto second = open_dataset(folder / "a.h5", node.other, {});
  EXPECT_EQ(second->info().name, first->info().name);
  EXPECT_EQ(second->info().fingerprint, first->info().fingerprint);
  EXPECT_EQ(second->info().class_names, first->info().class_names);
  EXPECT_EQ(second->info().channel_std, first->info().channel_std);
  EXPECT_EQ(second->info().sample_shape, first->info().sample_shape);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pixels_of(*second, i), pixels_of(*first, i));
    EXPECT_EQ(second->label(i), first->label(i));
  }
}

TEST(PackedDataset, AnErrorOfTheOpenerEndsAllRanks) {
  const TemporaryFolder folder;
  TwoRanks node;
  const Error first = error_of([&] { open_dataset(folder / "absent.h5", node.opener, {}); });
  const Error second = error_of([&] { open_dataset(folder / "absent.h5", node.other, {}); });
  EXPECT_EQ(first.status(), Status::input_missing);
  EXPECT_EQ(second.status(), Status::input_missing);
  EXPECT_STREQ(first.what(), second.what());
}

TEST(PackedDataset, AFileThatAnotherRankSeesDifferentlyIsRefused) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  TwoRanks node;
  open_dataset(folder / "a.h5", node.opener, {});
  fs::resize_file(folder / "a.h5", fs::file_size(folder / "a.h5") + 1);
  EXPECT_EQ(error_of([&] { open_dataset(folder / "a.h5", node.other, {}); }).status(), Status::bad_data);
}

TEST(CheckSameClasses, NamesTheFirstDifference) {
  DatasetInfo train, validation;
  train.name = "train.h5";
  validation.name = "val.h5";
  train.class_names = {"a", "b", "c"};
  validation.class_names = {"a", "b", "c"};
  EXPECT_NO_THROW(check_same_classes(train, validation));
  validation.class_names = {"a", "x", "y"};
  const Error error = error_of([&] { check_same_classes(train, validation); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("class 1 is 'b' in training and 'x' in validation"), HasSubstr("val.h5")));
  validation.class_names = {"a", "b"};
  EXPECT_THAT(error_of([&] { check_same_classes(train, validation); }).what(),
              HasSubstr("class 2, 'c', of training"));
}

}  // namespace
}  // namespace trireme
