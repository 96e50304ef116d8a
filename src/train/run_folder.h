// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/io/descriptor.h"
#include "src/train/config.h"

namespace trireme {

/// Without --resume a RUN_DIR that holds a run already is refused: 73, with the cure.
void refuse_existing_run(const TrainConfig& config);

/// Makes RUN_DIR with config.ini; 73 if that is not possible, or if another training writes to it. The lock
/// on RUN_DIR/.lock that is returned keeps others out while it is open; it ends with the process, however
/// that ends. A file system without locks gives a warning and an empty one. For rank 0.
[[nodiscard]] Descriptor prepare_run_folder(const TrainConfig& config);

}  // namespace trireme
