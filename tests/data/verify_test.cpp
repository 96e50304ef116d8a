// SPDX-License-Identifier: Apache-2.0
#include "data/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/pack.h"
#include "src/core/hash.h"
#include "tests/data/packing.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_pictures;

/// Packs 6 pictures of 2 classes.
PackOptions packed(const TemporaryFolder& folder, Encoding encoding) {
  for (unsigned i = 0; i < 6; ++i)
    write_file(folder / fmt::format("source/c{}/{}.jpg", i / 4, i), jpeg_of(make_picture(30, 30, 3, i)));
  PackOptions options;
  options.sources = {folder / "source"};
  options.output = folder / "a.h5";
  options.encode = encoding;
  options.order = PackOrder::source;
  pack_dataset(options);
  return options;
}

void flip_byte(const std::string& path, std::uint64_t at) {
  Bytes bytes = read_file(path);
  bytes[at] ^= 0x40;
  write_file(path, bytes);
}

class Verify : public testing::TestWithParam<Encoding> {};

TEST_P(Verify, FindsEveryChangedSample) {
  const TemporaryFolder folder;
  const std::string path = packed(folder, GetParam()).output;
  const VerifyReport good = verify_dataset(path);
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.has_hashes);
  EXPECT_EQ(good.checked, 6);

  const bool raw = GetParam() == Encoding::raw;
  std::uint64_t address = 0, second = 0;
  {
    const H5File file = H5File::open_read(path);
    address = *file.open_dataset(raw ? "images" : "blob").address();
    second = raw ? 30 * 30 * 3 : file.read<std::uint64_t>("offsets")[1];
  }
  flip_byte(path, address + 700);
  flip_byte(path, address + second + 700);
  const VerifyReport bad = verify_dataset(path);
  EXPECT_EQ(bad.checked, 6);
  EXPECT_EQ(bad.bad, 2);
  EXPECT_FALSE(bad.ok());
  EXPECT_THAT(bad.bad_examples,
              ElementsAre(HasSubstr("sample 0 (c0/0.jpg)"), HasSubstr("sample 1 (c0/1.jpg)")));
}

TEST_P(Verify, FindsAChangedLabelNameOrStatistic) {
  const TemporaryFolder folder;
  const std::string path = packed(folder, GetParam()).output;
  EXPECT_TRUE(verify_dataset(path).has_metadata_hash);
  const Bytes whole = read_file(path);
  std::map<std::string, std::uint64_t> changes;  // what, and a byte of it
  {
    const H5File file = H5File::open_read(path);
    changes["labels"] = *file.open_dataset("labels").address();
    changes["mean"] = *file.open_dataset("channel_mean").address();
    changes["deviation"] = *file.open_dataset("channel_std").address() + 1;
    const auto name = std::search(whole.begin(), whole.end(), "c0", "c0" + 3);
    ASSERT_NE(name, whole.end());
    changes["class name"] = static_cast<std::uint64_t>(name - whole.begin());
  }
  for (const auto& [what, at] : changes) {
    Bytes bytes = whole;
    bytes[at] ^= 1;
    write_file(path, bytes);
    const VerifyReport report = verify_dataset(path);
    EXPECT_EQ(report.bad, 1) << what;
    EXPECT_FALSE(report.ok()) << what;
    EXPECT_THAT(report.bad_examples, ElementsAre(HasSubstr("differ from their hash"))) << what;
  }
}

TEST_P(Verify, TheMetadataHashIsAsDocumented) {
  const TemporaryFolder folder;
  const H5File file = H5File::open_read(packed(folder, GetParam()).output);
  std::string bytes;
  const auto append = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
  };
  append(file.read<std::int32_t>("labels"));
  for (const std::string& name : file.read_strings("class_names")) {
    append(std::vector<std::uint64_t>{name.size()});
    append(name);
  }
  if (GetParam() == Encoding::jpeg) append(file.read<std::uint64_t>("offsets"));
  append(file.read<double>("channel_mean"));
  append(file.read<double>("channel_std"));
  EXPECT_EQ(file.read_attribute<std::uint64_t>("metadata_hash"), xxh3(bytes));
}

TEST_P(Verify, DescribesTheFile) {
  const TemporaryFolder folder;
  const std::string path = packed(folder, GetParam()).output;
  const DatasetSummary summary = describe_dataset(path);
  EXPECT_EQ(summary.info.name, path);
  EXPECT_EQ(summary.info.encoding, GetParam());
  EXPECT_EQ(summary.version, 1);
  EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(path));
  EXPECT_THAT(summary.class_counts, ElementsAre(4, 2));
  EXPECT_TRUE(summary.has_hashes);
  EXPECT_TRUE(summary.has_source_paths);
  std::uint64_t payload = 6 * 30 * 30 * 3;
  if (GetParam() == Encoding::jpeg) payload = H5File::open_read(path).read<std::uint64_t>("offsets").back();
  EXPECT_EQ(summary.payload_bytes, payload);
  EXPECT_EQ(summary.info.fingerprint, open_alone(path)->info().fingerprint);
}

INSTANTIATE_TEST_SUITE_P(Encodings, Verify, testing::Values(Encoding::raw, Encoding::jpeg),
                         [](const auto& encoding) {
                           return encoding.param == Encoding::raw ? "Raw" : "Jpeg";
                         });

TEST(VerifyDataset, WithoutHashesOnlyDecodingIsChecked) {
  const TemporaryFolder folder;
  Contents contents;
  contents.encoding = "jpeg";
  contents.sample_shape = {0, 0, 1};
  const Bytes jpeg = jpeg_of(make_picture(8, 8, 1, 1));
  contents.pixels = jpeg;
  contents.pixels.insert(contents.pixels.end(), {1, 2, 3});
  contents.num_samples = 2;
  contents.offsets = {0, jpeg.size(), jpeg.size() + 3};
  contents.labels = {0, 1};
  write_contents(folder / "a.h5", contents);
  const VerifyReport report = verify_dataset(folder / "a.h5");
  EXPECT_FALSE(report.has_hashes);
  EXPECT_FALSE(report.has_metadata_hash);
  EXPECT_EQ(report.bad, 1);
  EXPECT_THAT(report.bad_examples,
              ElementsAre(AllOf(HasSubstr("sample 1"), HasSubstr("neither JPEG nor PNG"))));
}

TEST(VerifyDataset, WrongFilesAreErrors) {
  const TemporaryFolder folder;
  write_file(folder / "text", "x");
  EXPECT_EQ(error_of([&] { verify_dataset(folder / "text"); }).status(), Status::bad_data);
  EXPECT_EQ(error_of([&] { describe_dataset(folder / "absent"); }).status(), Status::input_missing);
  Contents contents;
  write_contents(folder / "a.h5", contents);
  contents.format = "checkpoint";
  write_contents(folder / "b.h5", contents);
  EXPECT_TRUE(is_dataset_file(folder / "a.h5"));
  EXPECT_FALSE(is_dataset_file(folder / "b.h5"));
  EXPECT_FALSE(is_dataset_file(folder / "text"));
  EXPECT_FALSE(is_dataset_file(folder / "absent"));
}

}  // namespace
}  // namespace trireme
