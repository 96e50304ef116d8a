// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/pack.h"
#include "src/io/h5.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_pictures;

class PackIdx : public testing::Test {
 protected:
  PackIdx() {
    pixels_.resize(5 * 3 * 4);
    for (std::size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = static_cast<std::uint8_t>(i * 3);
    images_ = idx_of({5, 3, 4}, pixels_);
    labels_ = idx_of({5}, {2, 0, 1, 2, 0});
  }
  std::string write(const std::string& name, const Bytes& bytes) const {
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }
  PackSummary pack(const std::vector<std::string>& sources,
                   const std::vector<std::string>& names = {}) const {
    PackOptions options;
    options.sources = sources;
    options.output = folder_ / "out.h5";
    options.order = PackOrder::source;
    options.class_names = names;
    options.force = true;
    return pack_dataset(options);
  }
  Error error_for(const std::vector<std::string>& sources) const {
    return error_of([&] { pack(sources); });
  }
  void expect_whole() const {
    const H5File file = H5File::open_read(folder_ / "out.h5");
    EXPECT_EQ(file.read<std::uint8_t>("images"), pixels_);
    EXPECT_EQ(file.open_dataset("images").shape(), (Shape{5, 3, 4, 1}));
    EXPECT_THAT(file.read<std::int32_t>("labels"), ElementsAre(2, 0, 1, 2, 0));
    EXPECT_THAT(file.read_strings("class_names"), ElementsAre("0", "1", "2"));
  }

  TemporaryFolder folder_;
  Bytes pixels_, images_, labels_;
};

TEST_F(PackIdx, PlainAndGzipByContent) {
  pack({write("plain-images", images_), write("plain-labels", labels_)});
  expect_whole();
  pack({write("images.gz", gzip_of(images_)), write("labels.gz", gzip_of(labels_))});
  expect_whole();
  pack({write("images-named-plain", gzip_of(images_)), write("labels-named.gz", labels_)});
  expect_whole();
  EXPECT_EQ(H5File::open_read(folder_ / "out.h5").read_strings("source_paths")[3], "images-named-plain#3");
}

TEST_F(PackIdx, LabelsAreFoundByNameAndInAnyOrder) {
  const std::string images = write("train-images-idx3-ubyte.gz", gzip_of(images_));
  EXPECT_EQ(error_for({images}).status(), Status::input_missing);
  const std::string labels = write("train-labels-idx1-ubyte.gz", gzip_of(labels_));
  pack({images});
  expect_whole();
  pack({labels, images});
  expect_whole();
  const std::string plain = write("t10k-images.idx3-ubyte", images_);
  write("t10k-labels.idx1-ubyte.gz", gzip_of(labels_));
  pack({plain});
  expect_whole();
  EXPECT_EQ(error_for({labels}).status(), Status::bad_data) << "labels alone";
  EXPECT_EQ(error_for({images, plain}).status(), Status::bad_data) << "two files of pictures";
  EXPECT_EQ(error_for({images, labels, plain}).status(), Status::configuration);
}

TEST_F(PackIdx, ClassNamesMayBeGiven) {
  const std::vector<std::string> sources{write("i", images_), write("l", labels_)};
  EXPECT_THAT(pack(sources, {"shirt", "shoe", "bag", "hat"}).class_names,
              ElementsAre("shirt", "shoe", "bag", "hat"));
  EXPECT_EQ(error_of([&] { pack(sources, {"shirt", "shoe"}); }).status(), Status::bad_data);
  EXPECT_EQ(error_of([&] {
              pack(sources, {"shirt", "shoe", "shirt", "hat"});
            }).status(),
            Status::configuration);
}

TEST_F(PackIdx, ColourFilesHaveFourDimensions) {
  const Bytes pixels(2 * 2 * 2 * 3, 9);
  const PackSummary summary =
      pack({write("i", idx_of({2, 2, 2, 3}, pixels)), write("l", idx_of({2}, {0, 1}))});
  EXPECT_EQ(summary.sample_shape, (Shape{2, 2, 3}));
}

TEST_F(PackIdx, WrongFilesAreStatus65WithTheirName) {
  const std::string labels = write("labels", labels_);
  const auto expect_bad = [&](const Bytes& bytes, const char* reason) {
    const std::string path = write("bad", bytes);
    const Error error = error_for({path, labels});
    EXPECT_EQ(error.status(), Status::bad_data) << reason;
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path), HasSubstr(reason)));
  };
  expect_bad({'t', 'e', 'x', 't'}, "not an idx file");
  expect_bad({}, "not an idx file");
  expect_bad(Bytes(images_.begin(), images_.begin() + 10), "ends within its header");
  expect_bad(Bytes(images_.begin(), images_.end() - 1), "ends early");
  Bytes longer = images_;
  longer.push_back(0);
  expect_bad(longer, "longer");
  Bytes huge = images_;
  huge[4] = huge[8] = huge[12] = 0xff;
  expect_bad(huge, "out of range");
  Bytes shorts = images_;
  shorts[2] = 0x0b;
  expect_bad(shorts, "not an idx file of bytes");
  Bytes cut = gzip_of(images_);
  cut.resize(cut.size() - 9);
  expect_bad(cut, "gzip");
  Bytes checksum = gzip_of(images_);
  checksum[checksum.size() - 6] ^= 1;
  expect_bad(checksum, "gzip");
  EXPECT_THAT(error_for({write("images", images_), write("few", idx_of({4}, {0, 0, 0, 0}))}).what(),
              HasSubstr("5 pictures but 4 labels"));
  EXPECT_EQ(error_for({folder_ / "absent"}).status(), Status::input_missing);
  EXPECT_EQ(error_for({write("none", idx_of({0, 3, 4}, {})), write("no-labels", idx_of({0}, {}))}).status(),
            Status::bad_data);
}

}  // namespace
}  // namespace trireme
