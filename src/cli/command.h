// SPDX-License-Identifier: Apache-2.0
// The table of subcommands and what each is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/comm/world.h"
#include "src/core/error.h"

namespace trireme {

/// A subcommand as it was started.
struct Invocation {
  int& argc;
  char**& argv;
  std::vector<std::string> arguments;  ///< after the subcommand's name
  LaunchFacts launch;
};

struct Command {
  std::string_view name, summary;
  std::string (*help)();
  Status (*run)(const Invocation& invocation);
};

/// All subcommands, in the order of --help.
const std::vector<Command>& all_commands();

// One file each; errors are thrown.
std::string pack_help();
Status run_pack_command(const Invocation& invocation);
std::string train_command_help();
Status run_train_command(const Invocation& invocation);
std::string eval_help();
Status run_eval_command(const Invocation& invocation);
std::string info_help();
Status run_info_command(const Invocation& invocation);

}  // namespace trireme
