// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>

#include <functional>
#include <set>

#include "src/io/atomic_file.h"
#include "tests/src/checkpoint/checkpoint_fixture.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

class Store : public CheckpointTest {
 protected:
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "run" / "checkpoints"))
      names.insert(entry.path().filename().string());
    return names;
  }
  void damage(std::int64_t step) const {
    const fs::path file = folder_ / "run" / "checkpoints" / fmt::format("step-{}.h5", step);
    fs::resize_file(file, fs::file_size(file) / 2);
  }
  std::string run() const { return path("run"); }
};

TEST_F(Store, KeepsTheLastAndTheBest) {
  CheckpointStore store(run(), 2);
  for (const std::int64_t step : {100, 200, 300, 1000}) store.save(state(step), step == 100);
  EXPECT_EQ(files(), (std::set<std::string>{"step-100.h5", "step-300.h5", "step-1000.h5"}));
  EXPECT_EQ(read_text(path("run/latest")), "checkpoints/step-1000.h5\n");
  EXPECT_EQ(read_text(path("run/best")), "checkpoints/step-100.h5\n");
  store.save(state(1100), true);
  EXPECT_EQ(files(), (std::set<std::string>{"step-1000.h5", "step-1100.h5"}));
}

TEST_F(Store, LoadsTheNewestByNumber) {
  CheckpointStore store(run(), 5);
  for (const std::int64_t step : {90, 1000, 200}) store.save(state(step), false);
  std::string path_read;
  store.save(state(2000), false);
  EXPECT_EQ(store.load_latest(&path_read)->position.step, 2000);
  EXPECT_EQ(path_read, path("run/checkpoints/step-2000.h5"));
}

TEST_F(Store, FallsBackPastDamagedFiles) {
  CheckpointStore store(run(), 5);
  for (const std::int64_t step : {1, 2, 3}) store.save(state(step), false);
  damage(3);
  EXPECT_EQ(store.load_latest()->position.step, 2);
  damage(2);
  EXPECT_EQ(store.load_latest()->position.step, 1);
  damage(1);
  EXPECT_EQ(status_of([&] { store.load_latest(); }), Status::bad_data);
}

TEST_F(Store, FindsFilesWithoutThePointer) {
  CheckpointStore store(run(), 5);
  store.save(state(7), false);
  fs::remove(path("run/latest"));
  EXPECT_EQ(store.load_latest()->position.step, 7);
}

TEST_F(Store, AnEmptyRunHasNone) {
  EXPECT_FALSE(CheckpointStore(run(), 3).load_latest().has_value());
}

TEST_F(Store, AStepBehindLeftoversOfALaterOneStaysTheLatest) {
  {
    CheckpointStore store(run(), 3);
    for (const std::int64_t step : {100, 500}) store.save(state(step), false);
  }
  CheckpointStore store(run(), 1);  // set back to 100, then a new branch
  store.save(state(150), false);
  EXPECT_EQ(store.load_latest()->position.step, 150);
  EXPECT_EQ(files(), (std::set<std::string>{"step-150.h5", "step-500.h5"}));
}

TEST_F(Store, RemovesTemporaryFilesOfDeadWritersOnly) {
  fs::create_directories(path("run/checkpoints"));
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  const std::string of_dead = fmt::format("run/checkpoints/.step-3.h5.tmp-{}-0", dead);
  const std::string of_living = fmt::format("run/checkpoints/.step-4.h5.tmp-{}-0", getpid());
  std::ofstream(path(of_dead)) << "x";
  std::ofstream(path(of_living)) << "x";
  CheckpointStore store(run(), 3);
  EXPECT_FALSE(fs::exists(path(of_dead)));
  EXPECT_TRUE(fs::exists(path(of_living)));
}

// A writer killed at any moment leaves a folder whose newest checkpoint loads.
TEST_F(Store, SurvivesKillInMidSave) {
  for (int round = 0; round < 6; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      CheckpointStore store(run(), 2);
      for (std::int64_t step = 100 * round + 1;; ++step) store.save(state(step, 9 * 60000), step % 3 == 0);
    }
    // The first round must have something to leave; later ones are cut anywhere.
    while (round == 0 && !fs::exists(path("run/latest"))) usleep(2000);
    usleep(static_cast<useconds_t>(7000 + 9000 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CheckpointStore store(run(), 2);
    const auto loaded = store.load_latest();
    ASSERT_TRUE(loaded.has_value());
    for (const std::string& name : files()) EXPECT_TRUE(name.starts_with("step-")) << name;
    EXPECT_EQ(digest_of(loaded->parameters), digest_of(state(1, 9 * 60000).parameters));
  }
}

TEST_F(Store, ResolvesFilesAndRunFolders) {
  CheckpointStore store(run(), 5);
  EXPECT_EQ(status_of([&] { resolve_checkpoint(run(), true); }), Status::input_missing);
  EXPECT_EQ(status_of([&] { resolve_checkpoint(path("nowhere"), true); }), Status::input_missing);
  store.save(state(1), true);
  store.save(state(2), false);
  EXPECT_EQ(resolve_checkpoint(run(), true), path("run/checkpoints/step-1.h5"));
  EXPECT_EQ(resolve_checkpoint(run(), false), path("run/checkpoints/step-2.h5"));
  EXPECT_EQ(resolve_checkpoint(path("run/checkpoints/step-2.h5"), true), path("run/checkpoints/step-2.h5"));
  fs::remove(path("run/best"));
  EXPECT_EQ(resolve_checkpoint(run(), true), path("run/checkpoints/step-2.h5"));
}

TEST_F(Store, ResolvesAFolderWithoutPointersToItsNewestFile) {
  CheckpointStore store(run(), 5);
  for (const std::int64_t step : {9, 10}) store.save(state(step), step == 9);
  fs::remove(path("run/best"));
  fs::remove(path("run/latest"));
  EXPECT_EQ(resolve_checkpoint(run(), true), path("run/checkpoints/step-10.h5"));
  EXPECT_EQ(resolve_checkpoint(run(), false), path("run/checkpoints/step-10.h5"));
}

// Names that are too long and links in a circle fail like folders without permission, for root, too.
TEST_F(Store, WhatCannotBeLookedAtIsMissingInput) {
  const std::string too_long = path(std::string(300, 'x'));
  EXPECT_EQ(status_of([&] { resolve_checkpoint(too_long, true); }), Status::input_missing);
  EXPECT_EQ(status_of([&] { load_newest_checkpoint(too_long); }), Status::input_missing);
  fs::create_directories(run());
  for (const char* name : {"best", "checkpoints"}) fs::create_symlink(name, path("run") + "/" + name);
  for (const auto& action : {std::function<void()>([&] { resolve_checkpoint(run(), true); }),
                             std::function<void()>([&] { load_newest_checkpoint(run()); })}) {
    std::string message;
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::input_missing);
      message = error.what();
    }
    EXPECT_NE(message.find(path("run/checkpoints")), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace trireme
