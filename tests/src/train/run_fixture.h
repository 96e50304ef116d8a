// SPDX-License-Identifier: Apache-2.0
// Whole training runs inside a test program that runs under mpirun.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "src/checkpoint/checkpoint.h"
#include "src/comm/world.h"
#include "src/train/train.h"
#include "tests/support/temporary_folder.h"

namespace trireme {

/// One World for all tests of the program, gone before MPI is finalized.
class WorldEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    int argc = 0;
    char** argv = nullptr;
    world_ = std::make_unique<World>(argc, argv);
  }
  void TearDown() override { world_.reset(); }
  World& world() { return *world_; }

 private:
  std::unique_ptr<World> world_;
};

/// The program's environment; the first call, before main, registers it.
WorldEnvironment& world_environment();

/// Each test has a folder that all ranks see.
class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (world().rank() == 0) folder_ = std::make_unique<TemporaryFolder>();
    const std::string mine = folder_ ? folder_->path() : "";
    path_ = world().all().broadcast_text(mine, 0, std::chrono::seconds(60), "the test's folder");
  }
  void TearDown() override { world().all().barrier(std::chrono::seconds(60), "all ranks to end the test"); }

  static World& world() { return world_environment().world(); }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  /// A small run: lenet on 16x16 grey synthetic pictures, 4 classes, 5 steps of 24 an epoch and 8 samples
  /// more.
  TrainConfig small_run(const std::string& output) const {
    TrainConfig config = default_train_config();
    config.data = "synthetic:16x16x1:4:128";
    config.val = "synthetic:16x16x1:4:37";
    config.model = "lenet";
    config.output = path(output);
    config.global_batch = 24;
    config.epochs = 3;
    config.lr = 0.05;
    config.eval_batch = 8;
    config.timeout_seconds = 60;
    return config;
  }

  static Status train(const TrainConfig& config) {
    return run_training(config, world(), read_launch_facts());
  }

  /// The newest state of a run; every rank reads it. Collective.
  Checkpoint newest(const TrainConfig& config) const {
    world().all().barrier(std::chrono::seconds(60), "rank 0 to have saved");
    return read_checkpoint(resolve_checkpoint(config.output, false));
  }

  std::unique_ptr<TemporaryFolder> folder_;
  std::string path_;
};

}  // namespace trireme
