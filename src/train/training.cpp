// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "src/core/log.h"
#include "src/train/engine_tuning.h"
#include "src/train/run_folder.h"
#include "src/train/terminal.h"
#include "src/train/train.h"
#include "src/train/trainer.h"
#include "src/train/wait_limits.h"

namespace trireme {
namespace {

TimeLimit time_limit_of(const TrainConfig& config) {
  const char* job_end = std::getenv("SLURM_JOB_END_TIME");
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return find_time_limit(config.max_time_seconds, config.grace_seconds, job_end == nullptr ? "" : job_end,
                         now);
}

std::string counted(int number, const char* thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::vector<std::string> log_files(const TrainConfig& config) {
  std::vector<std::string> files{(std::filesystem::path(config.output) / "log.jsonl").string()};
  if (!config.log_json.empty()) files.push_back(config.log_json);
  return files;
}

}  // namespace

Status run_training(const TrainConfig& config, World& world, const LaunchFacts& launch,
                    Accelerator* accelerator) {
  const StopRequest stop_request(time_limit_of(config));
  const CoreBinding cores(world, launch, config.threads, startup_limit(config).timeout);
  const bool speaks = world.rank() == 0;
  if (speaks)
    log::info("{} with {} each ({}); rank 0: {}", counted(world.size(), "rank"),
              counted(cores.plan().threads, "compute thread"), cores.plan().reason, cores.plan().placement);
  if (speaks) refuse_existing_run(config);
  Compute compute =
      choose_compute(compute_settings(config), world, accelerator, startup_limit(config).timeout);
  if (speaks && !compute.note.empty()) log::info("{}", compute.note);
  RunSetup setup = set_up_run(config, world, compute);
  compute.cuda.engine_choices = choose_engines(config, world, cores.plan(), setup, compute);
  Trainer trainer(config, world, cores, compute, setup, stop_request);

  // Only now is it sure that the run begins: a mistake in the settings leaves no folder behind.
  Descriptor lock;
  std::optional<Console> console;
  std::optional<JsonLog> json_log;
  if (speaks) {
    lock = prepare_run_folder(config);
    console.emplace(stdout, output_is_terminal(!launch.launcher.empty()));
    json_log.emplace(log_files(config));
  }
  Metrics metrics(speaks ? &*console : nullptr, speaks ? &*json_log : nullptr, setup.train->info().synthetic,
                  setup.batches.steps_per_epoch());
  return trainer.run(metrics);
}

}  // namespace trireme
