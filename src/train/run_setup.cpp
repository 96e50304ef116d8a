// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_setup.h"

#include <cmath>

#include "src/core/hash.h"
#include "src/train/checkpoint_header.h"
#include "src/train/wait_limits.h"

namespace trireme {
namespace {

using Timeout = std::chrono::duration<double>;

constexpr const char* kMeasure = "measure";  // --tuning
constexpr const char* kSettingsFact = "the settings";

BatchPlan plan_batches(const TrainConfig& config, const World& world, std::int64_t num_samples) {
  BatchPlan plan;
  plan.num_samples = num_samples;
  plan.global_batch = config.global_batch > 0 ? config.global_batch : config.batch_per_rank * world.size();
  plan.rank = world.rank();
  plan.ranks = world.size();
  plan.accumulate = config.accumulate;
  plan.keep_last = config.last_batch == "keep";
  if (plan.steps_per_epoch() == 0)
    throw make_error(Status::configuration, "an epoch has no whole batch: {} samples, global batch {}",
                     num_samples, plan.global_batch)
        .hint("a smaller --global-batch, or --last-batch keep");
  return plan;
}

/// Rank 0 reads; the others are told everything but the tensors. The first character tells "there is one".
std::optional<LoadedCheckpoint> share_resumed(const TrainConfig& config, const World& world,
                                              Timeout timeout) {
  std::optional<LoadedCheckpoint> loaded;
  std::string text;
  if (world.rank() == 0) {
    loaded = load_for_resume(config);
    if (loaded) text = loaded->path + "\n" + checkpoint_header_text(loaded->state);
  }
  text = world.all().broadcast_text(text, 0, timeout, "rank 0 to read the checkpoint to resume from");
  if (world.rank() == 0 || text.empty()) return loaded;
  const std::size_t end_of_path = text.find('\n');
  return LoadedCheckpoint{text.substr(0, end_of_path),
                          parse_checkpoint_header(std::string_view(text).substr(end_of_path + 1))};
}

/// Rank 0 reads --tuning FILE for all.
std::optional<RunTuning> share_tuning(const TrainConfig& config, const World& world, Timeout timeout) {
  if (config.tuning == kMeasure) return std::nullopt;
  std::string text;
  if (world.rank() == 0) text = run_tuning_text(read_run_tuning(config.tuning));
  return parse_run_tuning(world.all().broadcast_text(text, 0, timeout, "rank 0 to read --tuning"));
}

StartFacts start_facts(const TrainConfig& config, const RunSetup& setup, const Compute& compute) {
  const std::uint64_t position =
      setup.resumed ? static_cast<std::uint64_t>(setup.resumed->state.position.step) : 0;
  return {{kSettingsFact, config_hash(config)},
          {"the training data", setup.train->info().fingerprint},
          {"the validation data", setup.validation ? setup.validation->info().fingerprint : 0},
          {"the network", xxh3(setup.graph.text())},
          {"the kind of device", xxh3(compute.kind_text())},
          {"the bucket plan", BucketPlan(setup.graph, FlatLayout(setup.graph), bucket_bytes(config)).hash()},
          {"the resumed step", position}};
}

void check_against_other_ranks(const TrainConfig& config, const World& world, RunSetup& setup,
                               const Compute& compute, Timeout timeout) {
  const std::vector<std::string> texts =
      world.all().allgather_text(start_facts_text(world.host(), start_facts(config, setup, compute)), timeout,
                                 "all ranks to have opened their data");
  // The long texts are gathered only when it is known, on all ranks alike, that something in them differs.
  if (const auto difference = first_difference(texts); difference && difference->name == kSettingsFact)
    check_same_settings(world.all().allgather_text(shared_settings_text(world.host(), config), timeout,
                                                   "all ranks' settings"));
  check_same_start(texts);
  for (const std::string& text : texts) setup.hosts.push_back(text.substr(0, text.find('\n')));
}

}  // namespace

std::size_t bucket_bytes(const TrainConfig& config) {
  return static_cast<std::size_t>(std::llround(config.bucket_mb * (1 << 20)));
}

RunSetup set_up_run(const TrainConfig& config, const World& world, const Compute& compute) {
  const Timeout timeout = startup_limit(config).timeout;
  const Timeout opening = opening_timeout(config);
  RunSetup setup;
  setup.train = open_shared_dataset(config.data, world, config.seed, config.preload, opening);
  const DatasetInfo& info = setup.train->info();
  if (!config.val.empty()) {
    setup.validation = open_shared_dataset(config.val, world, config.seed, config.preload, opening);
    check_same_classes(info, setup.validation->info());
  }
  setup.image_size = choose_image_size(config.image_size, info);
  setup.transform = transform_options(config, info, setup.image_size);
  setup.order = parse_order(config.order, info, setup.image_size);
  setup.graph = build_network(config, info, setup.image_size);
  setup.batches = plan_batches(config, world, info.num_samples);
  check_batch_statistics(setup.graph, setup.batches);
  setup.schedule = make_schedule(config, setup.batches.steps_per_epoch());
  setup.last_step = setup.schedule.total_steps;
  if (config.steps > 0) setup.last_step = std::min(setup.last_step, config.steps);
  setup.tuning = share_tuning(config, world, timeout);
  setup.resumed = share_resumed(config, world, timeout);
  if (setup.resumed) {
    check_resume_fits(setup.resumed->state,
                      {setup.graph.text(), info.fingerprint, config.seed, setup.batches.global_batch,
                       config.last_batch, config.order, config.sync_bn},
                      setup.resumed->path);
    setup.settings_changed = settings_changed_since(setup.resumed->state.config_text, config);
    setup.residuals_on_resume = residuals_on_resume(setup.resumed->state, config, world.size());
  }
  check_against_other_ranks(config, world, setup, compute, opening);
  return setup;
}

}  // namespace trireme
