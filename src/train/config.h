// SPDX-License-Identifier: Apache-2.0
// Every setting of a training run, once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/train/interval.h"
#include "src/train/setting.h"

namespace trireme {

/// Values that a run is made of. Defaults stand in the table in config.cpp (text form), not here.
struct TrainConfig {
  // data
  std::string data, val;
  int image_size = 0;   ///< 0: the training file's own size (raw), else required
  std::string augment;  ///< "auto" or a name of data/transform.h's Augment
  std::string order;    ///< "full" or "blocks:MIB"
  std::string preload;
  std::string last_batch;  ///< "drop" or "keep"
  int loader_threads = 0;  ///< 0: chosen
  // model
  std::string model;
  double label_smoothing = 0, dropout = 0.5;
  bool sync_bn = false;
  // optimisation
  std::int64_t epochs = 0, steps = 0;  ///< steps > 0 stops early; the schedule still spans `epochs`
  /// Exactly one of global_batch and batch_per_rank is above 0.
  std::int64_t global_batch = 0, batch_per_rank = 0, accumulate = 1;
  double lr = 0, momentum = 0, weight_decay = 0, warmup_epochs = 0, clip_norm = 0;
  bool nesterov = false, decay_norm_and_bias = true;
  std::string schedule;
  std::vector<double> milestones;  ///< in epochs, for --schedule step
  double gamma = 0.1;
  std::uint64_t seed = 0;
  double target_accuracy = 0;  ///< 0: none; stops when top-1 of the validation data reaches it
  bool nan_guard = true;
  // evaluation and output
  std::string output, resume;
  Interval eval_every, checkpoint_every;
  std::int64_t eval_batch = 0, log_every = 0, keep = 0;
  std::string log_json;
  bool memory_report = false;
  // machine
  std::string device;     ///< "auto", "cpu", "cuda" or "cuda:N"
  std::string precision;  ///< "auto" or a name of precision_names()
  std::string engine;     ///< a name of engine_names()
  double loss_scale = 0;  ///< that fp16 begins with
  bool cuda_graph = false;
  int ranks_per_gpu = 1;
  std::string comm;
  std::string tuning;  ///< "measure" or a run's tuning.json
  std::string wire;    ///< what gradients travel as: a name of wire_names()
  int threads = 0;     ///< 0: by the rule of cores.h
  double bucket_mb = 0;
  double timeout_seconds = 0, startup_timeout_seconds = 0, staging_timeout_seconds = 0;
  double evaluation_timeout_seconds = 0, saving_timeout_seconds = 0;
  double grace_seconds = 0;
  double max_time_seconds = 0;  ///< 0: what the scheduler leaves, if it says; otherwise no limit
  int expect_ranks = 0;
};

using Setting = SettingOf<TrainConfig>;

/// The table, in the order of --help.
const std::vector<Setting>& train_settings();
/// All defaults.
TrainConfig default_train_config();

/// `name=value` lines with group comments; an ini file that gives the same config.
std::string config_text(const TrainConfig& config);
TrainConfig parse_config_text(std::string_view text, std::string_view file_name);
/// Merges: flags > environment > ini (--config FILE or TRIREME_CONFIG) > defaults. Refuses unknown and
/// doubled settings with the nearest name (64 for flags; 78 for TRIREME_* variables and ini keys), and
/// settings that do not fit each other (78). {seed}, {jobid} and {index} in --output are replaced.
TrainConfig merge_train_config(const std::vector<std::string>& arguments, const char* const* environment);
/// The part of the merge that needs nothing but the command line: status 64 if that is wrong in itself.
void check_train_flags(const std::vector<std::string>& arguments);
/// --startup-timeout as far as it is known before the ini file can be read: from flags, else environment,
/// else the default. Errors as of the merge.
double start_up_timeout_seconds(const std::vector<std::string>& arguments, const char* const* environment);
/// Status 78 for settings that do not fit each other, 64 for missing ones.
void check_train_config(const TrainConfig& config);
/// Grouped help of the table.
std::string train_help();
/// Hash over the settings with part_of_hash.
std::uint64_t config_hash(const TrainConfig& config);

}  // namespace trireme
