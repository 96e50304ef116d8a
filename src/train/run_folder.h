// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/train/config.h"

namespace trireme {

/// Makes RUN_DIR with config.ini. Without --resume a folder that holds a run already is refused (73, with the
/// cure). For rank 0.
void prepare_run_folder(const TrainConfig& config);

}  // namespace trireme
