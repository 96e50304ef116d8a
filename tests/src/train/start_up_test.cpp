// SPDX-License-Identifier: Apache-2.0
#include "src/train/start_up.h"

#include <gtest/gtest.h>

#include "src/train/checkpoint_header.h"
#include "src/train/resume.h"
#include "src/train/run_folder.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

DatasetInfo info_of(std::int64_t height, std::int64_t width, std::int64_t channels) {
  DatasetInfo info;
  info.name = "train.h5";
  info.sample_shape = Shape{height, width, channels};
  info.num_samples = 100;
  info.class_names = {"a", "b", "c"};
  info.channel_mean.assign(static_cast<std::size_t>(channels), 0.5);
  info.channel_std.assign(static_cast<std::size_t>(channels), 0.25);
  return info;
}

Status status_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.status();
  }
  return Status::ok;
}

TEST(ImageSize, IsTheStoredOneOrMustBeSaid) {
  EXPECT_EQ(choose_image_size(0, info_of(32, 32, 3)), 32);
  EXPECT_EQ(choose_image_size(24, info_of(32, 32, 3)), 24);
  EXPECT_EQ(choose_image_size(224, info_of(0, 0, 3)), 224);
  EXPECT_EQ(status_of([] { choose_image_size(0, info_of(0, 0, 3)); }), Status::configuration);
  EXPECT_EQ(status_of([] { choose_image_size(0, info_of(32, 40, 3)); }), Status::configuration);
}

TEST(AugmentAuto, FitsThePictures) {
  EXPECT_EQ(choose_augment("auto", info_of(32, 32, 3), 32), Augment::crop_flip);
  EXPECT_EQ(choose_augment("auto", info_of(28, 28, 1), 28), Augment::crop);
  EXPECT_EQ(choose_augment("auto", info_of(0, 0, 3), 224), Augment::resized_crop);
  DatasetInfo synthetic = info_of(32, 32, 3);
  synthetic.synthetic = true;
  EXPECT_EQ(choose_augment("auto", synthetic, 32), Augment::none);
  EXPECT_EQ(choose_augment("none", info_of(32, 32, 3), 32), Augment::none);
}

TEST(Order, BlocksAreCountedInSamples) {
  EXPECT_EQ(parse_order("full", info_of(32, 32, 3), 32).kind, SampleOrder::Kind::full);
  const SampleOrder blocks = parse_order("blocks:3", info_of(32, 32, 3), 32);
  EXPECT_EQ(blocks.kind, SampleOrder::Kind::blocks);
  EXPECT_EQ(blocks.block_samples, 1024);
  EXPECT_EQ(parse_order("blocks:0.0001", info_of(64, 64, 3), 64).block_samples, 1);
}

TEST(Schedule, CountsEpochsInSteps) {
  TrainConfig config = default_train_config();
  config.epochs = 10;
  config.lr = 0.4;
  config.warmup_epochs = 0.5;
  config.schedule = "step";
  config.milestones = {3, 6.5};
  const LearningRateSchedule schedule = make_schedule(config, 20);
  EXPECT_EQ(schedule.kind, ScheduleKind::step);
  EXPECT_EQ(schedule.base, 0.4);
  EXPECT_EQ(schedule.total_steps, 200);
  EXPECT_EQ(schedule.warmup_steps, 10);
  EXPECT_EQ(schedule.milestones, (std::vector<std::int64_t>{60, 130}));
}

TEST(LoaderThreads, FollowTheFreeCores) {
  CorePlan plan;
  EXPECT_EQ(choose_loader_threads(5, plan), 5);
  EXPECT_EQ(choose_loader_threads(0, plan), 1);
  plan.compute = {0};
  plan.helpers = {0};
  EXPECT_EQ(choose_loader_threads(0, plan), 1);
  plan.helpers = {1, 2, 3};
  EXPECT_EQ(choose_loader_threads(0, plan), 3);
}

TEST(SameStart, NamesTheFirstFactAndRankThatDiffer) {
  const StartFacts facts{{"the settings", 1}, {"the training data", 2}, {"the network", 3}};
  StartFacts other = facts;
  other[1].second = 5;
  other[2].second = 6;
  const std::string same = start_facts_text("a", facts);
  EXPECT_EQ(status_of([&] { check_same_start({same, start_facts_text("b", facts)}); }), Status::ok);
  std::string message;
  EXPECT_EQ(status_of(
                [&] {
                  check_same_start({same, same, start_facts_text("c", other)});
                },
                &message),
            Status::configuration);
  EXPECT_NE(message.find("the training data"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 2"), std::string::npos) << message;
  EXPECT_NE(message.find("hosts a and c"), std::string::npos) << message;
}

TEST(SameSettings, NamesTheFirstOneThatDiffersWithBothValues) {
  TrainConfig config = default_train_config();
  const std::string first = shared_settings_text("a", config);
  config.threads = 7;  // each rank's own business
  const std::string same = shared_settings_text("b", config);
  EXPECT_EQ(status_of([&] { check_same_settings({first, same}); }), Status::ok);
  config.seed = 2;
  config.log_every = 7;
  std::string message;
  EXPECT_EQ(status_of(
                [&] {
                  check_same_settings({first, same, shared_settings_text("c", config)});
                },
                &message),
            Status::configuration);
  EXPECT_NE(message.find("ranks differ in the settings: seed is 0 on rank 0 and 2 on rank 2"),
            std::string::npos)
      << message;
}

TEST(ResumeFits, NamesSettingsThatChangeWhatAStepHolds) {
  TrainConfig config = default_train_config();
  config.order = "blocks:4";
  Checkpoint header;
  header.config_text = config_text(config) + "setting-of-another-version=1\n";
  ResumeFacts facts{"", 0, 0, 0, "drop", "blocks:4"};
  const auto message_of = [&] {
    std::string message;
    const Status status = status_of([&] { check_resume_fits(header, facts, "step-1.h5"); }, &message);
    EXPECT_EQ(status, message.empty() ? Status::ok : Status::configuration);
    return message;
  };
  EXPECT_EQ(message_of(), "");
  facts.last_batch = "keep";
  EXPECT_NE(message_of().find("--last-batch drop"), std::string::npos) << message_of();
  facts.last_batch = "drop";
  facts.order = "full";
  EXPECT_NE(message_of().find("--order blocks:4"), std::string::npos) << message_of();
}

TEST(ResumeFits, NamesSyncBn) {
  TrainConfig config = default_train_config();
  Checkpoint header;
  ResumeFacts facts{"", 0, 0, 0, "drop", "full"};
  const auto message_of = [&] {
    std::string message;
    const Status status = status_of([&] { check_resume_fits(header, facts, "step-1.h5"); }, &message);
    EXPECT_EQ(status, message.empty() ? Status::ok : Status::configuration);
    return message;
  };
  EXPECT_EQ(message_of(), "") << "older checkpoints do not name the setting";
  facts.sync_bn = true;
  EXPECT_NE(message_of().find("--sync-bn is false, this run's true"), std::string::npos) << message_of();
  config.sync_bn = true;
  header.config_text = config_text(config);
  EXPECT_EQ(message_of(), "");
  facts.sync_bn = false;
  EXPECT_NE(message_of().find("use --sync-bn"), std::string::npos) << message_of();
}

TEST(StartUp, OneValuePerChannelOnAllRanksIsRefused) {
  TrainConfig config = default_train_config();
  config.model = "vgg16_bn";  // its last batch norms see 2x2 pixels of 32x32, one of 16x16
  config.sync_bn = true;
  DatasetInfo info;
  info.sample_shape = {16, 16, 3};
  info.class_names = {"a", "b"};
  BatchPlan plan{.num_samples = 12, .global_batch = 4, .ranks = 4, .accumulate = 1};
  const auto check = [&](int size) { check_batch_statistics(build_network(config, info, size), plan); };
  EXPECT_NO_THROW(check(16));
  plan.global_batch = 1;
  EXPECT_NO_THROW(check(32));
  std::string message;
  EXPECT_EQ(status_of([&] { check(16); }, &message), Status::configuration);
  EXPECT_NE(message.find("'features.35'"), std::string::npos) << message;
  config.sync_bn = false;
  EXPECT_NO_THROW(check(16)) << "each rank's program looks itself";
  config.sync_bn = true;
  plan = {.num_samples = 13, .global_batch = 4, .ranks = 4, .accumulate = 1, .keep_last = true};
  EXPECT_EQ(status_of([&] { check(16); }, &message), Status::configuration)
      << "the last batch is one picture";
}

TEST(ResumeFits, OtherSettingsThatChangedAreTold) {
  TrainConfig config = default_train_config();
  const std::string saved = config_text(config);
  config.threads = 3;
  EXPECT_EQ(settings_changed_since(saved, config), "");
  config.lr = 0.01;
  config.augment = "none";
  EXPECT_EQ(settings_changed_since(saved, config), "augment auto -> none, lr 0.1 -> 0.01");
}

TEST(ResumeFits, NamesWhatDiffers) {
  Checkpoint header;
  header.graph_text = "g";
  header.dataset_fingerprint = 1;
  header.position.seed = 2;
  header.position.global_batch = 128;
  const ResumeFacts same{"g", 1, 2, 128, "drop", "full"};
  const auto message_of = [&](ResumeFacts facts) {
    std::string message;
    const Status status = status_of([&] { check_resume_fits(header, facts, "step-1.h5"); }, &message);
    EXPECT_EQ(status, message.empty() ? Status::ok : Status::configuration);
    return message;
  };
  EXPECT_EQ(message_of(same), "");
  EXPECT_NE(message_of({"h", 1, 2, 128, "drop", "full"}).find("network"), std::string::npos);
  EXPECT_NE(message_of({"g", 9, 2, 128, "drop", "full"}).find("training data"), std::string::npos);
  EXPECT_NE(message_of({"g", 1, 3, 128, "drop", "full"}).find("--seed 2"), std::string::npos);
  EXPECT_NE(message_of({"g", 1, 2, 64, "drop", "full"}).find("--global-batch 128"), std::string::npos);
}

TEST(CheckpointHeader, CarriesEveryValueExactly) {
  Checkpoint header;
  header.position = {1, 2, 3, 4, 0xffffffffffffffffU, 6, 0.1, 8};
  header.graph_text = "line\nline \"quoted\"\n";
  header.model_name = "lenet";
  header.config_text = "x = 1\n";
  header.class_names = {"caf\xc3\xa9", "b"};
  header.channel_mean = {1.0 / 3};
  header.channel_std = {0.1 + 0.2};
  header.image_size = 28;
  header.channels = 1;
  header.crop_ratio = 0.9;
  header.dataset_fingerprint = 0x8000000000000001U;
  header.best_top1 = 2.0 / 7;
  const Checkpoint read = parse_checkpoint_header(checkpoint_header_text(header));
  EXPECT_EQ(checkpoint_header_text(read), checkpoint_header_text(header));
  EXPECT_EQ(read.position.seed, 0xffffffffffffffffU);
  EXPECT_EQ(read.position.epoch_loss_sum, 0.1);
  EXPECT_EQ(read.position.epoch_samples, 8);
  EXPECT_EQ(read.class_names, header.class_names);
  EXPECT_EQ(read.channel_std, header.channel_std);
  EXPECT_EQ(read.best_top1, header.best_top1);
  EXPECT_FALSE(read.top1.has_value());
  EXPECT_EQ(read.dataset_fingerprint, header.dataset_fingerprint);
}

TEST(RunFolder, TakesOneTrainingAtATime) {
  const TemporaryFolder folder;
  TrainConfig config = default_train_config();
  config.output = folder / "run";
  config.resume = "auto";
  {
    const Descriptor lock = prepare_run_folder(config);
    std::string message;
    EXPECT_EQ(status_of([&] { const Descriptor second = prepare_run_folder(config); }, &message),
              Status::cannot_create);
    EXPECT_NE(message.find("another training writes to " + config.output), std::string::npos) << message;
  }
  EXPECT_EQ(status_of([&] { const Descriptor lock = prepare_run_folder(config); }), Status::ok);
}

TEST(RunFolder, IsMadeOnceAndThenOnlyResumed) {
  const TemporaryFolder folder;
  TrainConfig config = default_train_config();
  config.output = folder / "new/run";
  refuse_existing_run(config);
  { const Descriptor lock = prepare_run_folder(config); }
  std::string message;
  EXPECT_EQ(status_of([&] { refuse_existing_run(config); }, &message), Status::cannot_create);
  EXPECT_NE(message.find("--resume auto"), std::string::npos) << message;
  config.resume = "auto";
  EXPECT_EQ(status_of([&] { refuse_existing_run(config); }), Status::ok);
  EXPECT_FALSE(load_for_resume(config).has_value());
  config.resume = folder / "new/run";
  EXPECT_EQ(status_of([&] { load_for_resume(config); }), Status::input_missing);
}

}  // namespace
}  // namespace trireme
