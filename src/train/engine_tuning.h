// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/comm/world.h"
#include "src/train/compute.h"
#include "src/train/config.h"
#include "src/train/run_setup.h"

namespace trireme {

/// Collective. With --engine auto: which engine computes which convolution, the same on every rank, since
/// sums by different engines have different bits. From --tuning FILE, else from the checkpoint that is
/// resumed, else measured by rank 0 on the network's layers. Empty with other engines and without cuDNN.
std::string choose_engines(const TrainConfig& config, const World& world, const CorePlan& cores,
                           const RunSetup& setup, const Compute& compute);

}  // namespace trireme
