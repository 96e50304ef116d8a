// SPDX-License-Identifier: Apache-2.0
#include "src/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

std::size_t entries_of(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

template <typename Function>
Status status_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.status();
  }
  return Status::ok;
}

TEST(AtomicFile, AppearsWholeAtCommit) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  {
    AtomicFile file(path);
    std::ofstream(file.temporary_path()) << "content";
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(std::filesystem::path(file.temporary_path()).parent_path(), folder.path());
    file.commit();
  }
  EXPECT_EQ(read_text(path), "content");
  EXPECT_EQ(entries_of(folder.path()), 1U);
}

TEST(AtomicFile, WithoutCommitTheOldFileStaysAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  write_text_atomically(path, "old");
  {
    const AtomicFile file(path);
    std::ofstream(file.temporary_path()) << "half of the ne";
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(entries_of(folder.path()), 1U);
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotMeet) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  AtomicFile first(path);
  AtomicFile second(path);
  EXPECT_NE(first.temporary_path(), second.temporary_path());
  std::ofstream(first.temporary_path()) << "first";
  std::ofstream(second.temporary_path()) << "second";
  second.commit();
  first.commit();
  EXPECT_EQ(read_text(path), "first");
  EXPECT_EQ(entries_of(folder.path()), 1U);
}

TEST(AtomicFile, FollowsTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_text_atomically(folder / "out.txt", "x");
  ::umask(before);
  struct stat facts {};
  ASSERT_EQ(::stat((folder / "out.txt").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0640U);
}

TEST(AtomicFile, OutputThatCannotBeMadeIsStatus73) {
  const TemporaryFolder folder;
  EXPECT_EQ(status_of([&] { AtomicFile(folder / "no/out.txt"); }), Status::cannot_create);
  std::filesystem::create_directory(folder / "out");
  EXPECT_EQ(status_of([&] { AtomicFile(folder / "out"); }), Status::cannot_create);
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(status_of([&] { AtomicFile(folder / "file/out.txt"); }), Status::cannot_create);
}

TEST(AtomicFile, WhatIsNoRegularFileIsNotReplaced) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    try {
      write_text_atomically(folder / name, "x");
      ADD_FAILURE() << "replaced " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::cannot_create);
      EXPECT_NE(std::string(error.what()).find("it is not a regular file"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(entries_of(folder.path()), 2U);
}

TEST(AtomicFile, ALinkStaysAndItsTargetIsReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink("elsewhere/out.txt", folder / "link");
  std::filesystem::create_symlink(folder / "link", folder / "link2");
  for (const char* text : {"made through a link to nothing", "replaced"}) {
    write_text_atomically(folder / "link2", text);
    EXPECT_EQ(read_text(folder / "elsewhere/out.txt"), text);
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link2"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_FALSE(std::filesystem::is_symlink(folder / "elsewhere/out.txt"));
  }
  EXPECT_EQ(entries_of(folder.path()), 3U);
  EXPECT_EQ(entries_of(folder / "elsewhere"), 1U);
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_EQ(status_of([&] { write_text_atomically(folder / "circle", "x"); }), Status::cannot_create);
}

TEST(AtomicFile, AFullDiskIsStatus74AndLeavesNothing) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit file_size{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &file_size);
    std::_Exit(static_cast<int>(
        status_of([&] { write_text_atomically(folder / "out.txt", std::string(2000, 'x')); })));
  }
  int state = 0;
  ::waitpid(child, &state, 0);
  ASSERT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 74);
  EXPECT_EQ(entries_of(folder.path()), 0U);
}

TEST(ReadText, GivesTheWholeFile) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0U, 1U, 16384U, 100001U}) {
    const std::string text(size, 'y');
    write_text_atomically(folder / "a.txt", text);
    EXPECT_EQ(read_text(folder / "a.txt"), text);
  }
  EXPECT_EQ(status_of([&] { read_text(folder / "absent.txt"); }), Status::input_missing);
  EXPECT_EQ(status_of([&] { read_text(folder.path()); }), Status::input_missing);
}

}  // namespace
}  // namespace trireme
