// SPDX-License-Identifier: Apache-2.0
// Packs that do not come to their end, in child processes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "data/pack.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using namespace testing_pictures;

/// Runs `body` in a child; its exit status, or minus the signal.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) std::exit(body());
  int state = 0;
  ::waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

class PackInterrupted : public testing::TestWithParam<Encoding> {
 protected:
  PackInterrupted() {
    for (unsigned i = 0; i < 40; ++i)
      write_file(folder_ / fmt::format("source/a/{}.png", i), png_of(make_picture(100, 100, 3, i)));
    fs::create_directory(folder_ / "out");
    options_.sources = {folder_ / "source"};
    options_.output = folder_ / "out/train.h5";
    options_.encode = GetParam();
    options_.threads = 2;
  }

  TemporaryFolder folder_;
  PackOptions options_;
};

TEST_P(PackInterrupted, KilledLeavesNothingAtTheFinalPath) {
  options_.progress = [](std::int64_t done, std::int64_t) {
    if (done == 20) ::raise(SIGKILL);
  };
  EXPECT_EQ(in_child([&] {
              pack_dataset(options_);
              return 0;
            }),
            -SIGKILL);
  EXPECT_FALSE(fs::exists(options_.output));
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_TRUE(entry.path().filename().string().starts_with(".")) << entry.path();
  // What is left does not stand in the way.
  options_.progress = {};
  EXPECT_EQ(pack_dataset(options_).files[0].num_samples, 40);
}

TEST_P(PackInterrupted, KilledWhileReplacingLeavesTheOldFile) {
  write_file(options_.output, "old");
  options_.force = true;
  options_.progress = [](std::int64_t done, std::int64_t total) {
    if (done == total) ::raise(SIGKILL);
  };
  EXPECT_EQ(in_child([&] {
              pack_dataset(options_);
              return 0;
            }),
            -SIGKILL);
  EXPECT_EQ(read_file(options_.output), (Bytes{'o', 'l', 'd'}));
}

TEST_P(PackInterrupted, AFullDiskIsStatus74AndLeavesNothing) {
  const PackSummary whole = pack_dataset(options_);
  fs::remove(options_.output);
  const std::uint64_t payload_start = 1 << 20;
  // The disk fills up with the pictures, and with what is written behind them.
  for (const std::uint64_t limit : {payload_start + 5000, whole.files[0].bytes - 100}) {
    const int status = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit file_size{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &file_size);
      return static_cast<int>(error_of([&] { pack_dataset(options_); }).status());
    });
    EXPECT_EQ(status, 74) << limit;
    EXPECT_TRUE(fs::is_empty(folder_ / "out")) << limit;
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, PackInterrupted, testing::Values(Encoding::raw, Encoding::jpeg),
                         [](const auto& encoding) {
                           return encoding.param == Encoding::raw ? "Raw" : "Jpeg";
                         });

}  // namespace
}  // namespace trireme
