// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/train/accelerator.h"

namespace trireme {

/// The whole program: parses, runs the subcommand, turns an Error into one message and the exit status.
/// `accelerator` is null in programs that cannot use GPUs.
int run_command_line(int argc, char** argv, Accelerator* accelerator = nullptr);

}  // namespace trireme
