// SPDX-License-Identifier: Apache-2.0
#include "data/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/data/packing.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace testing_pictures;

std::vector<std::string> names_in(const std::string& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) names.push_back(entry.path());
  return names;
}

Bytes first_pixels(const Dataset& dataset) {
  Picture picture;
  dataset.read(3, picture);
  return picture.pixels;
}

TEST(Staging, AFolderKeepsACopyThatIsReusedWhileItIsEqual) {
  const TemporaryFolder folder;
  const std::string source = folder / "a.h5", stage = folder / "stage";
  fs::create_directory(stage);
  write_contents(source, {});
  const DatasetOptions options{0, stage};
  const auto plain = open_alone(source);
  const auto staged = open_alone(source, options);
  EXPECT_EQ(first_pixels(*staged), first_pixels(*plain));
  EXPECT_EQ(staged->info().name, source);
  EXPECT_EQ(staged->info().fingerprint, plain->info().fingerprint);
  ASSERT_EQ(names_in(stage, ".h5").size(), 1U);
  const std::string copy = names_in(stage, ".h5")[0];
  EXPECT_EQ(read_file(copy), read_file(source));

  const auto made = fs::last_write_time(copy);
  open_alone(source, options);
  EXPECT_EQ(fs::last_write_time(copy), made) << "reused";

  Bytes damaged = read_file(copy);
  damaged[damaged.size() / 2] ^= 1;
  write_file(copy, damaged);
  open_alone(source, options);
  EXPECT_EQ(read_file(copy), read_file(source)) << "a damaged copy is made again";

  fs::resize_file(copy, 10);
  open_alone(source, options);
  EXPECT_EQ(read_file(copy), read_file(source)) << "a short copy is made again";

  Contents other;
  other.pixels = Bytes(24, 77);
  write_contents(source, other);
  EXPECT_EQ(first_pixels(*open_alone(source, options)), Bytes(6, 77)) << "a changed source is copied again";
  EXPECT_EQ(names_in(stage, ".h5").size(), 1U) << "in place of the old copy";
}

TEST(Staging, MemoryIsSharedThroughTheIndexAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::string source = folder / "a.h5";
  write_contents(source, {});
  const Bytes expected = first_pixels(*open_alone(source));
  std::vector<std::byte> carried;
  const NodeShare opener{true, [&](std::vector<std::byte> bytes) { return carried = std::move(bytes); }};
  const NodeShare other{false, [&](const std::vector<std::byte>&) { return carried; }};
  const DatasetOptions options{0, "memory"};
  auto first = open_dataset(source, opener, options);
  const auto second = open_dataset(source, other, options);
  write_file(source, "gone");  // the copy does not need it
  EXPECT_EQ(first_pixels(*first), expected);
  first.reset();
  EXPECT_EQ(first_pixels(*second), expected);
}

TEST(Staging, WhatCannotBeStagedSaysSo) {
  const TemporaryFolder folder;
  write_contents(folder / "a.h5", {});
  EXPECT_EQ(error_of([&] {
              open_alone(folder / "a.h5", {0, folder / "absent"});
            }).status(),
            Status::cannot_create);
  EXPECT_EQ(error_of([&] {
              open_alone(folder / "absent.h5", {0, "memory"});
            }).status(),
            Status::input_missing);
  // More than any memory or disk: a sparse file of 2^60 bytes, or as large as the file system allows.
  const std::string big = folder / "big";
  write_file(big, "x");
  std::error_code error;
  for (int bits = 60; bits > 40; --bits) {
    fs::resize_file(big, std::uintmax_t{1} << bits, error);
    if (!error) break;
  }
  ASSERT_FALSE(error);
  std::vector<Descriptor> keep_alive;
  for (const std::string& preload : {std::string("memory"), folder.path()}) {
    const Error refusal = error_of([&] { stage_file(big, Preload::parse(preload), keep_alive); });
    EXPECT_EQ(refusal.status(), Status::configuration) << preload;
    EXPECT_THAT(refusal.what(), AllOf(HasSubstr("MiB"), HasSubstr("left")));
  }
  EXPECT_TRUE(names_in(folder.path(), ".h5").size() == 1);
}

TEST(AvailableMemory, IsTheLeastOfMachineAndCgroups) {
  const TemporaryFolder root;
  constexpr std::uint64_t kMiB = 1 << 20;
  write_file(root / "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    8192 kB\nBuffers: 1 kB\n");
  EXPECT_EQ(available_memory(root.path()), 8 * kMiB) << "no cgroups";

  write_file(root / "proc/self/cgroup", "0::/job/step\n");
  write_file(root / "sys/fs/cgroup/job/step/memory.max", "max\n");
  write_file(root / "sys/fs/cgroup/job/step/memory.current", "100\n");
  EXPECT_EQ(available_memory(root.path()), 8 * kMiB) << "no limit";

  write_file(root / "sys/fs/cgroup/job/memory.max", std::to_string(5 * kMiB));
  write_file(root / "sys/fs/cgroup/job/memory.current", std::to_string(4 * kMiB));
  write_file(root / "sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file " + std::to_string(kMiB) +
                                                         "\nactive_file " + std::to_string(kMiB) +
                                                         "\nshmem 9\n");
  EXPECT_EQ(available_memory(root.path()), 3 * kMiB) << "5 - 4 + 2 of file cache";

  write_file(root / "proc/self/cgroup", "9:memory:/slurm\n1:cpu:/x\n");
  write_file(root / "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", std::to_string(2 * kMiB));
  write_file(root / "sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", std::to_string(kMiB / 2));
  EXPECT_EQ(available_memory(root.path()), 2 * kMiB - kMiB / 2) << "version 1";
  write_file(root / "sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", std::to_string(3 * kMiB));
  EXPECT_EQ(available_memory(root.path()), 0U);
}

}  // namespace
}  // namespace trireme
