// SPDX-License-Identifier: Apache-2.0
#include "src/cli/cli.h"

#include <csignal>
#include <cstdio>

#include "src/cli/build_facts.h"
#include "src/cli/command.h"
#include "src/cli/failure.h"
#include "src/core/parse.h"
#include "src/train/flags.h"

namespace trireme {

namespace {

std::string overview() {
  std::string text = "usage: trireme COMMAND [ARGUMENTS]\n\nTrains convolutional networks on clusters.\n\n";
  for (const Command& command : all_commands())
    text += fmt::format("  {:<8}{}\n", command.name, command.summary);
  return text + "\ntrireme help COMMAND (or trireme COMMAND --help) says more; trireme --version.\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names{"help"};
  for (const Command& command : all_commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw make_error(Status::usage, "unknown command '{}'", name)
      .hint(nearest.empty() ? "trireme --help lists the commands" : fmt::format("did you mean {}?", nearest));
}

// Under a launcher, what all ranks would print is printed by one.
Status print_once(const std::string& text, const LaunchFacts& launch) {
  if (launch.rank == 0) std::fputs(text.c_str(), stdout);
  return Status::ok;
}

Status dispatch(int& argc, char**& argv, const LaunchFacts& launch) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) throw Error(Status::usage, "no command\n" + overview());
  const std::string& first = words.front();
  if (first == "--version") return print_once(fmt::format("trireme {}\n", program_version()), launch);
  if (first == "--help" || first == "-h") return print_once(overview(), launch);
  if (first == "help")
    return print_once(words.size() == 1 ? overview() : find_command(words[1]).help(), launch);
  const Command& command = find_command(first);
  const Invocation invocation{argc, argv, {words.begin() + 1, words.end()}, launch};
  if (wants_help(invocation.arguments)) return print_once(command.help(), launch);
  return command.run(invocation);
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"pack", "put pictures into one HDF5 file", pack_help, run_pack_command},
      {"train", "train a network, alone or under mpirun or srun", train_command_help, run_train_command},
      {"eval", "measure the accuracy of a checkpoint", eval_help, run_eval_command},
      {"info", "tell about this build, a data file, a checkpoint or a run", info_help, run_info_command},
  };
  return commands;
}

int run_command_line(int argc, char** argv) {
  // A reader that goes away (`| head`) or a limit on file sizes must not end the program without a word:
  // writing fails with an error code instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const LaunchFacts launch = read_launch_facts();
  try {
    const Status status = dispatch(argc, argv, launch);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw Error(Status::io_error, "cannot write to standard output");
    return static_cast<int>(status);
  } catch (...) {
    const Failure failure = current_failure();
    report_failure(failure, launch);
    return static_cast<int>(failure.status);
  }
}

}  // namespace trireme
