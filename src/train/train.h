// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/comm/world.h"
#include "src/core/error.h"
#include "src/train/accelerator.h"
#include "src/train/config.h"

namespace trireme {

/// A whole training run over the ranks of `world`: opens data, compiles, trains, evaluates, saves.
/// Returns ok, or stopped (143) when a signal or the time limit ended it with the state saved.
/// `accelerator` is null in programs that cannot use GPUs.
Status run_training(const TrainConfig& config, World& world, const LaunchFacts& launch,
                    Accelerator* accelerator = nullptr);

struct EvalConfig {
  std::string data, checkpoint;  ///< checkpoint: a file or a run folder (best, else latest)
  std::int64_t eval_batch = 100;
  int threads = 0, loader_threads = 0, image_size = 0;
  std::string preload = "none", device = "auto", precision = "auto", engine = "native", comm = "auto";
  int ranks_per_gpu = 1;
  double timeout_seconds = 600, startup_timeout_seconds = 600, staging_timeout_seconds = 3600;
  int expect_ranks = 0;
  bool json = false;
};

/// Evaluates a checkpoint; rank 0 prints "top1=… top5=… loss=… correct=… total=…", or one JSON object.
Status run_evaluation(const EvalConfig& config, World& world, const LaunchFacts& launch,
                      Accelerator* accelerator = nullptr);

}  // namespace trireme
