// SPDX-License-Identifier: Apache-2.0
#include "src/train/config.h"

namespace trireme {

namespace {

void check_required(const TrainConfig& config) {
  struct Required {
    const std::string& value;
    const char* what;
  };
  const Required required[] = {{config.data, "--data FILE (the training data)"},
                               {config.model, "--model NAME (the network)"},
                               {config.output, "-o DIR (the folder of the run)"}};
  for (const Required& setting : required)
    if (setting.value.empty())
      throw make_error(Status::usage, "missing {}", setting.what)
          .hint("trireme help train lists the settings");
}

// What must not be, and what to say then.
struct Conflict {
  bool is_there;
  std::string message;
};

}  // namespace

void check_train_config(const TrainConfig& config) {
  check_required(config);
  const std::int64_t batch = config.global_batch > 0 ? config.global_batch : config.batch_per_rank;
  const bool by_steps = config.schedule == "step";
  const Conflict conflicts[] = {
      {(config.global_batch > 0) == (config.batch_per_rank > 0),
       "exactly one of --global-batch and --batch-per-rank sets the batch"},
      {batch % config.accumulate != 0, "--accumulate must divide the batch"},
      {config.warmup_epochs > static_cast<double>(config.epochs), "--warmup-epochs is more than --epochs"},
      {config.nesterov && config.momentum == 0, "--nesterov needs --momentum above 0"},
      {by_steps && config.milestones.empty(), "--schedule step needs --milestones"},
      {!by_steps && !config.milestones.empty(), "--milestones is only for --schedule step"},
      {!by_steps && config.gamma != default_train_config().gamma, "--gamma is only for --schedule step"},
      {config.target_accuracy > 0 && config.val.empty(), "--target-accuracy needs --val"},
      {config.target_accuracy > 0 && config.eval_every.unit == Interval::Unit::never,
       "--target-accuracy needs --eval-every other than never"},
      {config.max_time_seconds > 0 && config.max_time_seconds <= config.grace_seconds,
       fmt::format("--max-time must be longer than --grace, which is {}",
                   duration_text(config.grace_seconds))},
  };
  for (const Conflict& conflict : conflicts)
    if (conflict.is_there) throw Error(Status::configuration, conflict.message);
}

}  // namespace trireme
