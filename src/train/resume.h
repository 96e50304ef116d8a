// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/checkpoint/checkpoint.h"
#include "src/train/config.h"

namespace trireme {

struct LoadedCheckpoint {
  std::string path;
  Checkpoint state;
};

/// What --resume names: "auto" is the newest of RUN_DIR, a folder is its newest, a file is itself; nothing
/// without
/// --resume, and for "auto" on a run that has saved nothing yet. For rank 0.
std::optional<LoadedCheckpoint> load_for_resume(const TrainConfig& config);

/// Facts of this run that a checkpoint must fit, so that going on gives what the uninterrupted run gives.
struct ResumeFacts {
  std::string graph_text;
  std::uint64_t dataset_fingerprint = 0, seed = 0;
  std::int64_t global_batch = 0;
  std::string last_batch, order;  ///< as the settings spell them
  bool sync_bn = false;
};
/// Status 78 naming the first that differs. `path` is the checkpoint's.
void check_resume_fits(const Checkpoint& header, const ResumeFacts& facts, const std::string& path);

/// What becomes of a checkpoint's compression residuals, or of their absence, in a run of `ranks` ranks;
/// empty if each rank gets its own back or there are none on either side.
std::string residuals_on_resume(const Checkpoint& header, const TrainConfig& config, int ranks);

/// The settings of the run that differ from those in a checkpoint's config text, "lr 0.1 -> 0.01, ..."; empty
/// if none does. Paths and settings of the machine may differ and are left out.
std::string settings_changed_since(std::string_view saved_config, const TrainConfig& config);

}  // namespace trireme
