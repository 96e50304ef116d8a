// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/exchange/bucket_plan.h"
#include "src/graph/flat_layout.h"
#include "src/train/batch_plan.h"
#include "src/train/compute.h"
#include "src/train/resume.h"
#include "src/train/run_tuning.h"
#include "src/train/start_up.h"

namespace trireme {

/// All that a run is made of, the same on every rank: opened, planned, checked against the other ranks, but
/// without memory for tensors or running threads yet.
struct RunSetup {
  std::unique_ptr<Dataset> train, validation;  ///< validation is null without --val
  int image_size = 0;
  TransformOptions transform;
  SampleOrder order;
  Graph graph;
  BatchPlan batches;
  LearningRateSchedule schedule;
  std::int64_t last_step = 0;               ///< the run ends after this many steps
  std::optional<RunTuning> tuning;          ///< of --tuning FILE
  std::optional<LoadedCheckpoint> resumed;  ///< tensors are there on rank 0 only
  std::string settings_changed;             ///< settings_changed_since the checkpoint
  std::string residuals_on_resume;          ///< what becomes of the checkpoint's residuals, for people
  std::vector<std::string> hosts;           ///< by rank
};

/// Collective. `compute` must be the same kind on all ranks.
RunSetup set_up_run(const TrainConfig& config, const World& world, const Compute& compute = {});

std::size_t bucket_bytes(const TrainConfig& config);

}  // namespace trireme
