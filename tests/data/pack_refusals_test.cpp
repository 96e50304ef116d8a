// SPDX-License-Identifier: Apache-2.0
// What a pack refuses or leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

TEST_F(PackFolder, SizesThatDifferNameTheFirstOddPictureAndTheCure) {
  add("a/1.png", make_picture(8, 8, 3, 1));
  add("a/2.png", make_picture(8, 9, 3, 1));
  add("a/3.png", make_picture(7, 8, 3, 1));
  const Error error = error_of([&] { pack_dataset(options()); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("a/2.png"), HasSubstr("8x9"), HasSubstr("a/1.png"), HasSubstr("--resize")));
  EXPECT_EQ(entries(), 0U);
  PackOptions pack = options();
  pack.crop = 10;
  EXPECT_THAT(error_of([&] { pack_dataset(pack); }).what(),
              AllOf(HasSubstr("does not fit"), HasSubstr("a/1.png")));
}

TEST_F(PackFolder, DamageStopsThePackOrIsSkippedAndCounted) {
  Bytes truncated = jpeg_of(make_picture(30, 30, 3, 1));
  truncated.resize(truncated.size() - 30);
  add("a/good.jpg", jpeg_of(make_picture(30, 30, 3, 2)));
  add("a/truncated.jpg", truncated);
  add("b/text.jpg", Bytes{'n', 'o', 't'});
  add("b/empty.png", Bytes{});
  add("stray.png", png_of(make_picture(30, 30, 3, 2)));
  add("b/good.png", make_picture(30, 30, 3, 4));
  fs::create_symlink("nowhere", folder_ / "source/b/broken.png");
  ASSERT_EQ(::mkfifo((folder_ / "source/b/pipe").c_str(), 0600), 0);

  const Error error = error_of([&] { pack_dataset(options()); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), HasSubstr("--on-error skip"));
  EXPECT_EQ(entries(), 0U);

  PackOptions pack = options();
  pack.on_error = OnError::skip;
  const PackSummary summary = pack_dataset(pack);
  EXPECT_EQ(summary.files[0].num_samples, 2);
  EXPECT_EQ(summary.skipped, 6);
  EXPECT_THAT(summary.skipped_examples,
              UnorderedElementsAre(AllOf(HasSubstr("truncated.jpg"), HasSubstr("remature end")),
                                   AllOf(HasSubstr("text.jpg"), HasSubstr("neither JPEG nor PNG")),
                                   AllOf(HasSubstr("empty.png"), HasSubstr("empty file")),
                                   AllOf(HasSubstr("stray.png"), HasSubstr("outside")),
                                   HasSubstr("broken.png"), HasSubstr("pipe")));
  EXPECT_THAT(H5File::open_read(pack.output).read_strings("source_paths"),
              UnorderedElementsAre("a/good.jpg", "b/good.png"));
}

TEST_F(PackFolder, DamageWithinAFileNamesFileAndReason) {
  Bytes truncated = jpeg_of(make_picture(30, 30, 3, 1));
  truncated.resize(truncated.size() - 30);
  add("a/good.jpg", jpeg_of(make_picture(30, 30, 3, 2)));
  add("a/truncated.jpg", truncated);
  const Error error = error_of([&] { pack_dataset(options()); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("source/a/truncated.jpg"), HasSubstr("remature end")));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(PackFolder, APictureThatJpegCannotHoldIsNamed) {
  add("a/long.png", make_picture(1, 65501, 1, 1));
  PackOptions pack = options();
  pack.encode = Encoding::jpeg;
  const Error error = error_of([&] { pack_dataset(pack); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), HasSubstr("a/long.png"));
}

TEST_F(PackFolder, ExistingOutputIsRefusedUnlessForced) {
  add("a/1.png", make_picture(2, 2, 1, 1));
  write_file(folder_ / "out.h5", "precious");
  EXPECT_EQ(error_of([&] { pack_dataset(options()); }).status(), Status::cannot_create);
  EXPECT_EQ(read_file(folder_ / "out.h5").size(), 8U);
  PackOptions pack = options();
  pack.force = true;
  pack_dataset(pack);
  EXPECT_GT(read_file(folder_ / "out.h5").size(), 8U);
  pack.split = PackSplit{"val", 0.5};
  pack.force = false;
  pack.output = folder_ / "new.h5";
  write_file(folder_ / "new-val.h5", "precious");
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::cannot_create);
}

TEST_F(PackFolder, AnOutputThatIsNoRegularFileIsRefusedAlsoByForce) {
  add("a/1.png", make_picture(2, 2, 1, 1));
  ASSERT_EQ(::mkfifo((folder_ / "pipe.h5").c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    PackOptions pack = options("pipe.h5");
    pack.force = force;
    const Error error = error_of([&] { pack_dataset(pack); });
    EXPECT_EQ(error.status(), Status::cannot_create);
    EXPECT_THAT(error.what(), HasSubstr("it is not a regular file"));
  }
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe.h5"));
}

TEST_F(PackFolder, PicturesOfMoreThan2To28PixelsAreNotMade) {
  add("a/1.png", make_picture(1, 5, 1, 1));
  const auto expect_refused = [&](const std::function<void(PackOptions&)>& change, Status status) {
    PackOptions pack = options();
    change(pack);
    const Error error = error_of([&] { pack_dataset(pack); });
    EXPECT_EQ(error.status(), status);
    EXPECT_THAT(error.what(), HasSubstr("2^28"));
  };
  expect_refused([](PackOptions& pack) { pack.size = PackSize{60000, 60000}; }, Status::configuration);
  expect_refused([](PackOptions& pack) { pack.size = PackSize{16384, 16385}; }, Status::configuration);
  expect_refused([](PackOptions& pack) { pack.resize = 16385; }, Status::configuration);
  expect_refused([](PackOptions& pack) { pack.crop = 16385; }, Status::configuration);
  // The shorter side fits, but not the picture that it makes.
  expect_refused([](PackOptions& pack) { pack.resize = 10000; }, Status::bad_data);
  expect_refused([](PackOptions& pack) { pack.resize = 10000, pack.crop = 2; }, Status::bad_data);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(PackFolder, WrongSourcesAndOptionsHaveTheirStatus) {
  EXPECT_EQ(error_of([&] { pack_dataset(options()); }).status(), Status::input_missing);
  fs::create_directories(folder_ / "source");
  EXPECT_EQ(error_of([&] { pack_dataset(options()); }).status(), Status::bad_data);
  fs::create_directories(folder_ / "source/class");
  EXPECT_EQ(error_of([&] { pack_dataset(options()); }).status(), Status::bad_data);
  add("class/1.png", make_picture(2, 2, 1, 1));
  PackOptions pack = options("no/such/out.h5");
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::cannot_create);
  pack = options();
  pack.sources = {folder_ / "source/class/1.png"};
  pack.format = PackFormat::folder;
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::bad_data);
  pack = options();
  pack.sources = {folder_ / "source/class/1.png"};
  const Error error = error_of([&] { pack_dataset(pack); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("folder of pictures for each class"), HasSubstr("idx file")));
  pack = options();
  pack.size = PackSize{3, 3};
  pack.crop = 2;
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::configuration);
  pack = options();
  pack.class_names = {"x"};
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::configuration);
  pack = options();
  pack.split = PackSplit{"val", 0.1};
  EXPECT_EQ(error_of([&] { pack_dataset(pack); }).status(), Status::bad_data);
  EXPECT_EQ(entries(), 0U);
  EXPECT_EQ(pack_dataset(options()).class_names.size(), 1U) << "one class is enough";
}

TEST(PackTexts, AreParsedStrictly) {
  EXPECT_EQ(parse_split("val=0.25").name, "val");
  EXPECT_EQ(parse_split("val=0.25").fraction, 0.25);
  for (const char* text :
       {"", "val", "=0.1", "val=", "val=1", "val=0", "val=1.5", "val=x", "a/b=0.1", "val=0.1 "})
    EXPECT_EQ(error_of([&] { parse_split(text); }).status(), Status::usage) << text;
  EXPECT_EQ(parse_size("32x40"), (PackSize{32, 40}));
  for (const char* text : {"", "32", "32x", "x32", "0x3", "-1x3", "3x3x3", "3 x3", "70000x1"})
    EXPECT_EQ(error_of([&] { parse_size(text); }).status(), Status::usage) << text;
  EXPECT_EQ(split_path("a/b/train.h5", "val"), "a/b/train-val.h5");
  EXPECT_EQ(split_path("train", "val"), "train-val");
}

}  // namespace
}  // namespace trireme
