// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/train/config.h"

namespace trireme {

/// Without --resume a RUN_DIR that holds a run already is refused: 73, with the cure.
void refuse_existing_run(const TrainConfig& config);

/// Makes RUN_DIR with config.ini; 73 if that is not possible. For rank 0.
void prepare_run_folder(const TrainConfig& config);

}  // namespace trireme
