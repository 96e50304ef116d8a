// SPDX-License-Identifier: Apache-2.0
#include "src/train/config.h"

#include <gmock/gmock.h>

#include <cctype>
#include <fstream>
#include <set>

#include "src/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Writes a file of the folder and gives its path.
std::string write_file(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder / name;
  std::ofstream(path) << text;
  return path;
}

const Words kMinimal = {"--data", "train.h5", "--model", "resnet20", "-o", "run"};

TrainConfig merge(const Words& flags, const std::vector<const char*>& variables = {}) {
  Words arguments = kMinimal;
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<const char*> environment = variables;
  environment.push_back(nullptr);
  return merge_train_config(arguments, environment.data());
}

struct Refusal {
  Status status = Status::ok;
  std::string message;
};

template <typename Function>
Refusal refusal(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
  return {Status::ok, "accepted"};
}

TEST(ConfigTable, NamesAreUniqueAndSpelledAlike) {
  std::set<std::string> names;
  for (const Setting& setting : train_settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    for (const char c : setting.name) EXPECT_TRUE(std::islower(c) != 0 || c == '-') << setting.name;
    EXPECT_FALSE(setting.name.starts_with("no-")) << "would be taken for the negation of a switch";
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_FALSE(setting.group.empty()) << setting.name;
  }
}

TEST(ConfigTable, EveryDefaultIsAValueThatReadsBack) {
  const TrainConfig defaults = default_train_config();
  for (const Setting& setting : train_settings()) {
    const std::string text = setting.get(defaults);
    EXPECT_EQ(text.empty(), setting.default_text.empty()) << setting.name;
    if (text.empty()) continue;
    TrainConfig config;
    ASSERT_NO_THROW(setting.set(config, setting.default_text)) << setting.name;
    EXPECT_EQ(setting.get(config), text) << setting.name;
    ASSERT_NO_THROW(setting.set(config, text)) << setting.name;
    EXPECT_EQ(setting.get(config), text) << setting.name;
  }
}

TEST(ConfigTable, HasTheDefaultsOfTheManual) {
  const TrainConfig config = default_train_config();
  EXPECT_EQ(config.epochs, 10);
  EXPECT_EQ(config.steps, 0);
  EXPECT_EQ(config.global_batch, 128);
  EXPECT_EQ(config.batch_per_rank, 0);
  EXPECT_EQ(config.lr, 0.1);
  EXPECT_EQ(config.momentum, 0.9);
  EXPECT_EQ(config.weight_decay, 5e-4);
  EXPECT_TRUE(config.decay_norm_and_bias);
  EXPECT_FALSE(config.nesterov);
  EXPECT_EQ(config.timeout_seconds, 600);
  EXPECT_EQ(config.max_time_seconds, 0);
  EXPECT_EQ(config.threads, 0);
  EXPECT_EQ(config.eval_every, (Interval{Interval::Unit::epochs, 1}));
}

// A value other than the default for a setting, found by its kind.
std::string another_value(const Setting& setting) {
  for (const char* text : {"true", "false", "0.25", "7", "7steps", "7min", "7,8", "vgg16", "constant", "flip",
                           "keep", "cpu", "mpi", "bf16", "cudnn", "blocks:4", "some/path"}) {
    TrainConfig config = default_train_config();
    try {
      setting.set(config, text);
    } catch (const Error&) {
      continue;
    }
    if (setting.get(config) != setting.get(default_train_config())) return text;
  }
  return "";
}

TEST(ConfigText, EverySettingSurvivesTheRoundTrip) {
  for (const Setting& setting : train_settings()) {
    const std::string value = another_value(setting);
    ASSERT_NE(value, "") << setting.name;
    TrainConfig config = default_train_config();
    setting.set(config, value);
    if (setting.name == "batch-per-rank") config.global_batch = 0;
    const std::string text = config_text(config);
    const TrainConfig read = parse_config_text(text, "config.ini");
    EXPECT_EQ(config_text(read), text);
    EXPECT_EQ(setting.get(read), setting.get(config)) << setting.name;
  }
}

TEST(ConfigText, IsAnIniFileWithGroups) {
  const std::string text = config_text(default_train_config());
  EXPECT_THAT(text, testing::StartsWith("# Data\n"));
  EXPECT_THAT(text, HasSubstr("\n\n# Machine\n"));
  EXPECT_THAT(text, HasSubstr("\nlr=0.1\n"));
  EXPECT_THAT(text, HasSubstr("\ntimeout=10min\n"));
}

TEST(ConfigText, ReadsAsTheConfigOfANewRun) {
  const TemporaryFolder folder;
  const TrainConfig first = merge({"--lr", "0.3", "--batch-per-rank", "32"});
  const std::string file = write_file(folder, "config.ini", config_text(first));
  EXPECT_EQ(config_text(merge({"--config", file})), config_text(first));
}

TEST(ConfigHelp, ListsEverySettingOnce) {
  const std::string help = train_help();
  for (const Setting& setting : train_settings()) {
    const std::string line = "  .*--(\\[no-\\])?" + setting.name + " .*" + setting.help.substr(0, 12);
    EXPECT_THAT(help, testing::ContainsRegex(line)) << setting.name;
    EXPECT_THAT(help, HasSubstr(setting.group + ":"));
  }
  EXPECT_THAT(help, HasSubstr("--config FILE"));
  EXPECT_THAT(help, HasSubstr("resnet50"));
  EXPECT_THAT(help, HasSubstr("crop-flip"));
}

TEST(ConfigMerge, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const TemporaryFolder folder;
  const std::string file = write_file(folder, "run.ini", "[any]\nlr = 0.2\nmomentum = 0.2\nepochs = 2\n");
  const TrainConfig config =
      merge({"--config", file, "--lr", "0.4"}, {"TRIREME_LR=0.3", "TRIREME_MOMENTUM=0.3"});
  EXPECT_EQ(config.lr, 0.4);
  EXPECT_EQ(config.momentum, 0.3);
  EXPECT_EQ(config.epochs, 2);
  EXPECT_EQ(config.weight_decay, 5e-4);
}

TEST(ConfigMerge, TheFileMayBeNamedByTheEnvironment) {
  const TemporaryFolder folder;
  const std::string variable = "TRIREME_CONFIG=" + write_file(folder, "run.ini", "lr=0.2\n");
  EXPECT_EQ(merge({}, {variable.c_str()}).lr, 0.2);
}

TEST(ConfigMerge, TheBatchIsSaidInOneWay) {
  const TemporaryFolder folder;
  EXPECT_EQ(merge({}).global_batch, 128);
  const TrainConfig by_flag = merge({"--batch-per-rank", "16"});
  EXPECT_EQ(by_flag.batch_per_rank, 16);
  EXPECT_EQ(by_flag.global_batch, 0);
  const std::string file = write_file(folder, "run.ini", "batch-per-rank=16\n");
  const TrainConfig stronger = merge({"--config", file, "--global-batch", "64"});
  EXPECT_EQ(stronger.batch_per_rank, 0);
  EXPECT_EQ(stronger.global_batch, 64);
  const Refusal both = refusal([] { merge({"--batch-per-rank", "16", "--global-batch", "64"}); });
  EXPECT_EQ(both.status, Status::configuration);
  EXPECT_THAT(both.message, HasSubstr("exclude each other"));
  EXPECT_EQ(refusal([] { merge({"--global-batch", "none"}); }).status, Status::configuration);
}

TEST(ConfigMerge, EnvironmentVariablesAreChecked) {
  const auto with = [](const char* variable) { return refusal([=] { merge({}, {variable}); }); };
  EXPECT_EQ(with("TRIREME_LR=abc").status, Status::configuration);
  EXPECT_THAT(with("TRIREME_LR=abc").message, HasSubstr("TRIREME_LR: 'abc' is not a number"));
  EXPECT_EQ(with("TRIREME_GLOBAL_BACH=1").status, Status::configuration);
  EXPECT_EQ(
      with("TRIREME_GLOBAL_BACH=1").message,
      "unknown setting TRIREME_GLOBAL_BACH in the environment\n  hint: did you mean TRIREME_GLOBAL_BATCH?");
  EXPECT_EQ(with("TRIREME_lr=0.2").status, Status::configuration);
  EXPECT_EQ(with("TRIREMES=5").status, Status::ok);
  EXPECT_EQ(with("TRIREME_TEST_FOLDER=/x").status, Status::ok);
  EXPECT_EQ(merge({}, {"TRIREME_VAL="}).val, "");
}

TEST(ConfigMerge, FilesAreChecked) {
  const TemporaryFolder folder;
  const auto with = [&](const char* text) {
    const std::string file = write_file(folder, "run.ini", text);
    return refusal([&] { merge({"--config", file}); });
  };
  EXPECT_EQ(with("lr=0.1\nlr=0.2\n").status, Status::configuration);
  EXPECT_EQ(with("\nmomentun=0.2\n").status, Status::configuration);
  EXPECT_THAT(with("\nmomentun=0.2\n").message, HasSubstr("run.ini:2: unknown setting momentun"));
  EXPECT_THAT(with("\nmomentun=0.2\n").message, HasSubstr("did you mean momentum?"));
  EXPECT_EQ(with("epochs=many\n").status, Status::configuration);
  EXPECT_THAT(with("epochs=many\n").message, HasSubstr("run.ini:1: epochs: 'many' is not a whole number"));
  EXPECT_EQ(with("config=other.ini\n").status, Status::configuration);
  EXPECT_EQ(refusal([] { merge({"--config", "/nonexistent/run.ini"}); }).status, Status::input_missing);
}

struct UsageCase {
  Words flags;
  const char* message;
};

TEST(ConfigMerge, AWrongCommandLineIsStatus64) {
  const UsageCase cases[] = {
      {{"--lr", "abc"}, "--lr: 'abc' is not a number"},
      {{"--lr", "0"}, "--lr: '0' must be above 0"},
      {{"--epochs", "0"}, "--epochs: '0' must be from 1"},
      {{"--epochs", "1.5"}, "--epochs: '1.5' is not a whole number"},
      {{"--seed", "18446744073709551616"}, "--seed: '18446744073709551616' is out of range: from 0 to "},
      {{"--momentum", "1"}, "--momentum: '1' must be from 0 to"},
      {{"--epoch", "3"}, "unknown flag --epoch\n  hint: did you mean --epochs?"},
      {{"--lr", "1", "--lr", "2"}, "--lr is given twice"},
      {{"--model", "resnet20"}, "--model is given twice"},
      {{"--schedule", "cosin"}, "--schedule: 'cosin' is none of cosine, constant, step, linear"},
      {{"--augment", "crop_flip"}, "did you mean crop-flip?"},
      {{"--eval-every", "500"}, "--eval-every: '500' is not an interval"},
      {{"--timeout", "soon"}, "--timeout: 'soon' is not a time such as"},
      {{"--order", "blocks"}, "--order: 'blocks' is neither full nor blocks:MIB"},
      {{"--order", "blocks:0"}, "--order:"},
      {{"--nan-guard=perhaps"}, "--nan-guard: 'perhaps' is neither true nor false"},
      {{"stray"}, "unexpected argument 'stray'"},
      {{"--seed", "-1"}, "--seed: '-1' must be at least 0"},
      {{"--threads", "3000000000"}, "--threads:"},
      {{"--device", "gpu"}, "--device: 'gpu' is none of auto, cpu"},
  };
  for (const UsageCase& c : cases) {
    Words arguments = kMinimal;
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    for (const Refusal& r :
         {refusal([&] { check_train_flags(arguments); }), refusal([&] { merge(c.flags); })}) {
      EXPECT_EQ(r.status, Status::usage) << c.message;
      EXPECT_THAT(r.message, HasSubstr(c.message));
    }
  }
}

TEST(ConfigMerge, AMisspelledModelIsNamed) {
  const Refusal r = refusal([] { check_train_flags({"--model", "resnet21"}); });
  EXPECT_EQ(r.status, Status::usage);
  EXPECT_THAT(r.message, HasSubstr("--model: 'resnet21' is none of"));
  EXPECT_THAT(r.message, HasSubstr("did you mean resnet"));
}

TEST(ConfigMerge, WhatEveryRunNeedsIsAskedFor) {
  const char* const none[] = {nullptr};
  const std::pair<Words, const char*> cases[] = {{{"--model", "lenet", "-o", "run"}, "missing --data"},
                                                 {{"--data", "d.h5", "-o", "run"}, "missing --model"},
                                                 {{"--data", "d.h5", "--model", "lenet"}, "missing -o"}};
  for (const auto& [arguments, message] : cases) {
    EXPECT_NO_THROW(check_train_flags(arguments));
    const Refusal r = refusal([&] { merge_train_config(arguments, none); });
    EXPECT_EQ(r.status, Status::usage);
    EXPECT_THAT(r.message, HasSubstr(message));
  }
}

TEST(ConfigMerge, SettingsThatDoNotFitEachOtherAreStatus78) {
  const UsageCase cases[] = {
      {{"--global-batch", "10", "--accumulate", "3"}, "--accumulate must divide"},
      {{"--batch-per-rank", "10", "--accumulate", "3"}, "--accumulate must divide"},
      {{"--warmup-epochs", "11"}, "--warmup-epochs is more than --epochs"},
      {{"--nesterov", "--momentum", "0"}, "--nesterov needs --momentum"},
      {{"--schedule", "step"}, "needs --milestones"},
      {{"--milestones", "3,6"}, "only for --schedule step"},
      {{"--gamma", "0.2"}, "--gamma is only for --schedule step"},
      {{"--target-accuracy", "0.9"}, "--target-accuracy needs --val"},
      {{"--target-accuracy", "0.9", "--val", "v.h5", "--eval-every", "never"},
       "--target-accuracy needs --eval-every"},
      {{"--max-time", "30s"}, "--max-time must be longer than --grace, which is 1min"},
  };
  for (const UsageCase& c : cases) {
    const Refusal r = refusal([&] { merge(c.flags); });
    EXPECT_EQ(r.status, Status::configuration) << c.message;
    EXPECT_THAT(r.message, HasSubstr(c.message));
  }
  EXPECT_NO_THROW(merge({"--schedule", "step", "--milestones", "3,6", "--gamma", "0.2", "--max-time", "2h"}));
  EXPECT_NO_THROW(merge({"--global-batch", "12", "--accumulate", "3", "--warmup-epochs", "10"}));
}

TEST(ConfigMerge, PlaceholdersInTheOutputAreReplaced) {
  const char* const none[] = {nullptr};
  const char* const job[] = {"SLURM_JOB_IDX=9", "SLURM_JOB_ID=123", "SLURM_ARRAY_TASK_ID=4", nullptr};
  const auto output = [](const char* name, const char* const* environment) {
    return merge_train_config({"--data", "d", "--model", "lenet", "--seed", "7", "-o", name}, environment)
        .output;
  };
  EXPECT_EQ(output("runs/{jobid}-{index}/s{seed}", job), "runs/123-4/s7");
  EXPECT_EQ(output("plain", none), "plain");
  EXPECT_EQ(output("{seed}{seed}", none), "77");
  for (const char* name : {"{jobid}", "{index}", "{sed}", "{seed"}) {
    const Refusal r = refusal([&] { output(name, none); });
    EXPECT_EQ(r.status, Status::configuration) << name;
    EXPECT_THAT(r.message, HasSubstr("--output:")) << name;
  }
  EXPECT_THAT(refusal([&] { output("{jobid}", none); }).message, HasSubstr("SLURM_JOB_ID"));
}

TEST(ConfigHash, CountsWhatRanksMustAgreeOn) {
  const TrainConfig base = default_train_config();
  for (const Setting& setting : train_settings()) {
    TrainConfig changed = base;
    setting.set(changed, another_value(setting));
    EXPECT_EQ(config_hash(changed) != config_hash(base), setting.part_of_hash) << setting.name;
  }
  const std::set<std::string> own = {"threads", "loader-threads", "device", "data", "output", "log-json"};
  for (const Setting& setting : train_settings())
    if (own.contains(setting.name)) {
      EXPECT_FALSE(setting.part_of_hash) << setting.name;
    }
}

TEST(StartUpTimeout, IsThatOfTheFlagsElseOfTheEnvironmentElseTheDefault) {
  const char* const environment[] = {"TRIREME_STARTUP_TIMEOUT=7s", "TRIREME_TIMEOUT=9s",
                                     "TRIREME_MODEL=lenet", nullptr};
  const char* const empty[] = {nullptr};
  EXPECT_EQ(start_up_timeout_seconds({"--startup-timeout", "4s", "--timeout", "3s"}, environment), 4);
  EXPECT_EQ(start_up_timeout_seconds({"--epochs", "3"}, environment), 7);
  EXPECT_EQ(start_up_timeout_seconds({}, empty), default_train_config().startup_timeout_seconds);
}

}  // namespace
}  // namespace trireme
