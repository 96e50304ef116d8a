// SPDX-License-Identifier: Apache-2.0
// Packed files that other programs wrote, here Debian's h5py: it makes layouts and types that our own writer
// does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "tests/data/packing.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using namespace testing_pictures;

Bytes pixels_of(const Dataset& dataset, std::int64_t sample) {
  Picture picture;
  dataset.read(sample, picture);
  EXPECT_EQ(picture.channels, dataset.info().channels());
  return picture.pixels;
}

TEST(ForeignDataset, ChunkedAndCompressedFilesOfOthersAreRead) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  write_file(folder / "rewrite.py", R"(
import sys, h5py
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2], "w") as b:
    for key, value in a.attrs.items():
        b.attrs[key] = value
    for key, value in a.items():
        if key == "images":
            b.create_dataset(key, data=value[...], chunks=(3, 2, 3, 1), compression="gzip")
        elif key == "labels":
            b.create_dataset(key, data=value[...].astype("u1"))
        else:
            b.create_dataset(key, data=value[...], dtype=value.dtype)
    b.attrs["encoding"] = "raw"
)");
  const std::string command = fmt::format("/usr/bin/python3 {} {} {} 2>/dev/null", folder / "rewrite.py",
                                          folder / "a.h5", folder / "b.h5");
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "python3 has no h5py here";
  const auto ours = open_alone(folder / "a.h5"), theirs = open_alone(folder / "b.h5");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(pixels_of(*ours, i), pixels_of(*theirs, i));
        EXPECT_EQ(ours->label(i), theirs->label(i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pixels_of(*open_alone(folder / "b.h5", {0, folder.path()}), 3), pixels_of(*ours, 3)) << "staged";
  EXPECT_EQ(error_of([&] { open_alone(folder / "b.h5", {0, "memory"}); }).status(), Status::configuration);
}

/// Rewrites a.h5 to b.h5 with one change, by Debian's h5py; false where there is none.
bool rewrite(const TemporaryFolder& folder, const char* changed_name, const char* arguments) {
  write_file(folder / "rewrite.py", fmt::format(R"(
import sys, h5py
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2], "w") as b:
    for key, value in a.attrs.items():
        b.attrs[key] = value
    for key, value in a.items():
        if key == "{}":
            b.create_dataset(key, {})
        else:
            a.copy(key, b)
)",
                                                changed_name, arguments));
  const std::string command = fmt::format("/usr/bin/python3 {} {} {} 2>/dev/null", folder / "rewrite.py",
                                          folder / "a.h5", folder / "b.h5");
  return std::system(command.c_str()) == 0;
}

TEST(ForeignDataset, LabelsThatAreNoIntegersAreRefused) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  if (!rewrite(folder, "labels", "data=value[...].astype('f4')")) GTEST_SKIP() << "python3 has no h5py here";
  const Error error = error_of([&] { open_alone(folder / "b.h5"); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), HasSubstr("/labels does not hold integers"));
}

TEST(ForeignDataset, AMissingFilterIsNamedAtOpening) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  if (!rewrite(folder, "images", "data=value[...], chunks=(1, 2, 3, 1), compression='lzf'"))
    GTEST_SKIP() << "python3 has no h5py here";
  const Error error = error_of([&] { open_alone(folder / "b.h5"); });
  EXPECT_EQ(error.status(), Status::bad_data);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("filter lzf (32000), which this HDF5 does not have"),
                                  HasSubstr("images"), HasSubstr("repack with gzip or none")));
}

}  // namespace
}  // namespace trireme
