// SPDX-License-Identifier: Apache-2.0
// The table of subcommands and what each is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/comm/world.h"
#include "src/core/error.h"
#include "src/train/accelerator.h"

namespace trireme {

/// A subcommand as it was started.
struct Invocation {
  int& argc;
  char**& argv;
  std::vector<std::string> arguments;  ///< after the names of the subcommand and its topic
  LaunchFacts launch;
  Accelerator* accelerator = nullptr;  ///< null: this program cannot use GPUs
};

/// A subcommand, or one topic of a subcommand that has topics (`trireme bench allreduce`).
struct Command {
  std::string_view name, summary;
  std::string (*help)();
  Status (*run)(const Invocation& invocation);  ///< null: only its topics can be run
  const std::vector<Command>& (*topics)() = nullptr;
};

/// All subcommands, in the order of --help.
const std::vector<Command>& all_commands();
/// Names and summaries of a table, a line each.
std::string command_list(const std::vector<Command>& commands);

// One file each; errors are thrown.
std::string pack_help();
Status run_pack_command(const Invocation& invocation);
std::string train_command_help();
Status run_train_command(const Invocation& invocation);
std::string eval_help();
Status run_eval_command(const Invocation& invocation);
std::string info_help();
Status run_info_command(const Invocation& invocation);
std::string bench_help();
const std::vector<Command>& bench_topics();
std::string bench_allreduce_help();
Status run_bench_allreduce(const Invocation& invocation);
std::string bench_layers_help();
Status run_bench_layers(const Invocation& invocation);
std::string bench_train_help();
Status run_bench_train(const Invocation& invocation);

}  // namespace trireme
