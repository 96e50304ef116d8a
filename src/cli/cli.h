// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trireme {

/// The whole program: parses, runs the subcommand, turns an Error into one message and the exit status.
int run_command_line(int argc, char** argv);

}  // namespace trireme
