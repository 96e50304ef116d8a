// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/checkpoint/checkpoint.h"
#include "src/core/error.h"
#include "src/core/philox.h"

namespace trireme {

/// A folder of its own for each test, and made-up states.
class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme-checkpoint-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static NamedTensor tensor(const std::string& name, const Shape& shape, std::uint64_t seed) {
    NamedTensor made{name, shape, std::vector<float>(static_cast<std::size_t>(shape.count()))};
    fill_normal(Philox(seed, std::uint16_t{7}, 0, 0), 1.0F, made.values.data(), shape.count());
    return made;
  }

  static Checkpoint state(std::int64_t step, std::int64_t weights = 36) {
    Checkpoint c;
    c.position = {step, 3, 17, step * 128, 0xfedcba9876543210U, 128, 1234.0625, 2176};
    c.parameters = {tensor("layer1.0.conv1.weight", Shape{weights / 9, 1, 3, 3}, 1),
                    tensor("layer1.0.bn1.running_var", Shape{4}, 2), tensor("fc.bias", Shape{10}, 3)};
    c.optimizer_state["momentum"] = {tensor("layer1.0.conv1.weight", Shape{weights / 9, 1, 3, 3}, 4),
                                     tensor("fc.bias", Shape{10}, 5)};
    c.graph_text = "input ...\nconv2d ...\n";
    c.model_name = "resnet20";
    c.config_text = "epochs = 3\n";
    c.class_names = {"cat", "hund", "\xc3\xa9l\xc3\xa9phant"};
    c.channel_mean = {0.1, 1.0 / 3, 0.5};
    c.channel_std = {0.2, 0.25, 2.0 / 7};
    c.image_size = 32;
    c.channels = 3;
    c.best_top1 = 0.9132;
    c.tuning = R"({"comm":"ring"})";
    c.dataset_fingerprint = 0x8000000000000001U;
    return c;
  }

  static Status status_of(const std::function<void()>& action, std::string* message = nullptr) {
    try {
      action();
    } catch (const Error& error) {
      if (message != nullptr) *message = error.what();
      return error.status();
    }
    return Status::ok;
  }

  std::filesystem::path folder_;
};

}  // namespace trireme
