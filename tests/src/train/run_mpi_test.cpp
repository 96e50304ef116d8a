// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/transform.h"
#include "src/io/atomic_file.h"
#include "tests/src/train/run_fixture.h"

namespace trireme {

WorldEnvironment& world_environment() {
  static auto* environment =
      static_cast<WorldEnvironment*>(testing::AddGlobalTestEnvironment(new WorldEnvironment));
  return *environment;
}

namespace {

[[maybe_unused]] const WorldEnvironment& kRegistered = world_environment();

using nlohmann::json;

class Run : public RunTest {
 protected:
  static std::vector<json> events(const TrainConfig& config, const std::string& kind) {
    std::vector<json> found;
    std::ifstream file(config.output + "/log.jsonl");
    for (std::string line; std::getline(file, line);) {
      json event = json::parse(line);
      if (event.at("event") == kind) found.push_back(std::move(event));
    }
    return found;
  }
  static std::uint64_t digest(const Checkpoint& state) { return digest_of(state.parameters); }

  Status status_of(const TrainConfig& config, std::string* message = nullptr) {
    try {
      return train(config);
    } catch (const Error& error) {
      if (message != nullptr) *message = error.what();
      return error.status();
    }
  }
};

TEST_F(Run, LeavesTheFilesOfARun) {
  const TrainConfig config = small_run("run");
  EXPECT_EQ(train(config), Status::ok);
  const Checkpoint last = newest(config);
  EXPECT_EQ(last.position.step, 15);
  EXPECT_EQ(last.position.epoch, 3);
  EXPECT_EQ(last.position.step_in_epoch, 0);
  EXPECT_EQ(last.position.samples, 15 * 24);
  EXPECT_TRUE(last.top1.has_value());
  EXPECT_GE(*last.best_top1, *last.top1);
  if (world().rank() != 0) return;
  EXPECT_EQ(read_text(path("run/latest")), "checkpoints/step-15.h5\n");
  EXPECT_EQ(*read_checkpoint(resolve_checkpoint(config.output, true)).top1, *last.best_top1);
  EXPECT_EQ(parse_config_text(read_text(path("run/config.ini")), "config.ini").global_batch, 24);
  EXPECT_EQ(events(config, "start").size(), 1U);
  EXPECT_EQ(events(config, "start")[0].at("ranks"), world().size());
  EXPECT_EQ(events(config, "epoch").size(), 3U);
  const std::vector<json> evals = events(config, "eval");
  ASSERT_EQ(evals.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(evals[i].at("epoch"), i + 1);
    EXPECT_EQ(evals[i].at("total"), 37);
  }
  EXPECT_EQ(events(config, "end")[0].at("status"), 0);
}

TEST_F(Run, SameSeedSameBitsWhateverTheLoaderThreads) {
  TrainConfig one = small_run("one"), three = small_run("three"), other = small_run("other");
  for (TrainConfig* config : {&one, &three, &other}) {
    config->augment = std::string(augment_name(Augment::crop_flip));
    config->loader_threads = 1;
  }
  three.loader_threads = 3;
  other.seed = 1;
  for (const TrainConfig* config : {&one, &three, &other}) EXPECT_EQ(train(*config), Status::ok);
  EXPECT_EQ(digest(newest(one)), digest(newest(three)));
  EXPECT_NE(digest(newest(one)), digest(newest(other)));
}

TEST_F(Run, ResumedInMidEpochItEqualsTheUninterruptedRun) {
  const auto settings = [&](const std::string& name) {
    TrainConfig config = small_run(name);
    config.last_batch = "keep";  // 6 steps an epoch, the last of 8
    config.accumulate = 2;
    config.warmup_epochs = 1;
    config.clip_norm = 1;
    return config;
  };
  const TrainConfig whole = settings("whole");
  TrainConfig cut = settings("cut");
  EXPECT_EQ(train(whole), Status::ok);
  cut.steps = 4;
  EXPECT_EQ(train(cut), Status::ok);
  cut.resume = "auto";
  cut.steps = 11;
  EXPECT_EQ(train(cut), Status::ok);
  cut.steps = 0;
  EXPECT_EQ(train(cut), Status::ok);
  const Checkpoint a = newest(whole), b = newest(cut);
  EXPECT_EQ(digest(a), digest(b));
  EXPECT_EQ(digest_of(a.optimizer_state.at("momentum")), digest_of(b.optimizer_state.at("momentum")));
  EXPECT_EQ(a.position.samples, b.position.samples);
  if (world().rank() != 0) return;
  // The epoch that was cut reports the loss of all its samples.
  const auto losses = [](const std::vector<json>& epochs) {
    std::vector<double> found;
    for (const json& epoch : epochs) found.push_back(epoch.at("train_loss"));
    return found;
  };
  EXPECT_EQ(losses(events(whole, "epoch")), losses(events(cut, "epoch")));
}

TEST_F(Run, ASignalAtOneRankStopsAllAndResumingEqualsTheWhole) {
  const auto settings = [&](const std::string& name) {
    TrainConfig config = small_run(name);
    config.epochs = 40;
    config.log_every = 1;
    config.eval_every = {};
    config.checkpoint_every = {};
    return config;
  };
  const TrainConfig whole = settings("whole");
  TrainConfig stopped = settings("stopped");
  EXPECT_EQ(train(whole), Status::ok);
  std::thread sender;
  if (world().rank() == world().size() - 1)
    sender = std::thread([log = stopped.output + "/log.jsonl"] {
      const auto is_training = [&] {
        std::ifstream file(log);
        return std::string(std::istreambuf_iterator<char>(file), {}).find("\"step\":7,") != std::string::npos;
      };
      for (int i = 0; i < 20000 && !is_training(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kill(getpid(), SIGUSR1);
    });
  EXPECT_EQ(train(stopped), Status::stopped);
  if (sender.joinable()) sender.join();
  const std::int64_t stopped_at = newest(stopped).position.step;
  EXPECT_GE(stopped_at, 7);
  EXPECT_LT(stopped_at, 200);
  stopped.resume = "auto";
  EXPECT_EQ(train(stopped), Status::ok);
  EXPECT_EQ(digest(newest(whole)), digest(newest(stopped)));
}

TEST_F(Run, AnEvaluationMissedByAStopIsMadeUpFor) {
  TrainConfig config = small_run("run");
  config.steps = 5;
  config.eval_every = {};
  EXPECT_EQ(train(config), Status::ok);  // ends where an evaluation would be due
  config.eval_every = {Interval::Unit::epochs, 1};
  config.resume = "auto";
  config.steps = 6;
  EXPECT_EQ(train(config), Status::ok);
  world().all().barrier(std::chrono::seconds(60), "the log");
  const std::vector<json> evals = events(config, "eval");
  ASSERT_EQ(evals.size(), 2U);
  EXPECT_EQ(evals[0].at("step"), 5);
  EXPECT_EQ(evals[1].at("step"), 6);
}

TEST_F(Run, AStopDuringAnEvaluationBreaksItOff) {
  TrainConfig config = small_run("run");
  config.steps = 6;
  config.val = "synthetic:16x16x1:4:20000000";  // minutes
  config.max_time_seconds = 2;
  config.grace_seconds = 1;
  EXPECT_EQ(train(config), Status::stopped);
  const Checkpoint stopped = newest(config);
  EXPECT_EQ(stopped.position.step, 5);
  EXPECT_FALSE(stopped.top1.has_value());
  EXPECT_TRUE(events(config, "eval").empty());
  config.val = small_run("run").val;
  config.max_time_seconds = 0;
  config.resume = "auto";
  EXPECT_EQ(train(config), Status::ok);
  world().all().barrier(std::chrono::seconds(60), "the log");
  const std::vector<json> evals = events(config, "eval");
  ASSERT_EQ(evals.size(), 2U);
  EXPECT_EQ(evals[0].at("step"), 5);
  EXPECT_EQ(evals[1].at("step"), 6);
}

TEST_F(Run, FallsBackPastADamagedCheckpoint) {
  TrainConfig config = small_run("run");
  EXPECT_EQ(train(config), Status::ok);
  const std::uint64_t whole = digest(newest(config));
  world().all().barrier(std::chrono::seconds(60), "all to have read");
  if (world().rank() == 0) std::filesystem::resize_file(path("run/checkpoints/step-15.h5"), 5000);
  config.resume = "auto";
  EXPECT_EQ(train(config), Status::ok);
  EXPECT_EQ(digest(newest(config)), whole);
}

TEST_F(Run, StopsAtTheTargetAccuracy) {
  TrainConfig config = small_run("run");
  config.epochs = 50;
  config.target_accuracy = 0.01;
  EXPECT_EQ(train(config), Status::ok);
  EXPECT_EQ(newest(config).position.epoch, 1);
}

TEST_F(Run, ALossThatIsNotFiniteNamesStepAndLayer) {
  TrainConfig config = small_run("run");
  config.lr = 1e30;
  std::string message;
  EXPECT_EQ(status_of(config, &message), Status::configuration);
  EXPECT_NE(message.find("not finite at step"), std::string::npos) << message;
  EXPECT_NE(message.find("first non-finite value in"), std::string::npos) << message;
  if (world().rank() != 0) return;
  const std::vector<json> ends = events(config, "end");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].at("status"), static_cast<int>(Status::configuration));
}

TEST_F(Run, SettingsThatDifferAreNamed) {
  if (world().size() == 1) GTEST_SKIP() << "there is no other rank";
  TrainConfig config = small_run("run");
  config.lr = world().rank() == 1 ? 0.25 : 0.5;
  std::string message;
  EXPECT_EQ(status_of(config, &message), Status::configuration);
  EXPECT_NE(message.find("lr is 0.5 on rank 0 and 0.25 on rank 1"), std::string::npos) << message;
}

TEST_F(Run, FewerSamplesPerStepThanRanksWorks) {
  TrainConfig config = small_run("run");
  config.global_batch = 2;
  config.steps = 3;
  EXPECT_EQ(train(config), Status::ok);
  EXPECT_EQ(newest(config).position.samples, 6);
}

TEST_F(Run, BatchNormStatisticsAreEqualOnAllRanks) {
  TrainConfig config = small_run("run");
  config.model = "resnet20";
  config.data = "synthetic:8x8x3:4:48";
  config.val = "synthetic:8x8x3:4:9";
  config.epochs = 2;
  EXPECT_EQ(train(config), Status::ok);  // equality is checked at every evaluation and checkpoint
  const Checkpoint state = newest(config);
  for (const NamedTensor& tensor : state.parameters) {
    if (tensor.name.find("running_var") == std::string::npos) continue;
    for (const float value : tensor.values) EXPECT_TRUE(std::isfinite(value) && value > 0) << tensor.name;
  }
}

TEST_F(Run, RefusesSettingsThatNoEpochFits) {
  TrainConfig config = small_run("run");
  config.global_batch = 500;
  EXPECT_EQ(status_of(config), Status::configuration);
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

}  // namespace
}  // namespace trireme
