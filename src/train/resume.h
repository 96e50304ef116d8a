// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

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
};
/// Status 78 naming the first that differs. `path` is the checkpoint's.
void check_resume_fits(const Checkpoint& header, const ResumeFacts& facts, const std::string& path);

}  // namespace trireme
