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
  return "usage: trireme COMMAND [ARGUMENTS]\n\nTrains convolutional networks on clusters.\n\n" +
         command_list(all_commands()) +
         "\ntrireme help COMMAND (or trireme COMMAND --help) says more; trireme --version.\n";
}

const Command& find_in(const std::vector<Command>& table, const std::string& name, std::string_view kind,
                       std::string_view lister) {
  std::vector<std::string> names;
  for (const Command& command : table) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  if (&table == &all_commands()) names.emplace_back("help");
  const std::string nearest = nearest_name(name, names);
  throw make_error(Status::usage, "unknown {} '{}'", kind, name)
      .hint(nearest.empty() ? fmt::format("{} --help lists them", lister)
                            : fmt::format("did you mean {}?", nearest));
}

// What the first words name, and how many of them: a subcommand, or a subcommand and its topic.
struct NamedCommand {
  const Command& command;
  std::size_t words;
};

NamedCommand find_command(const std::vector<std::string>& words) {
  const Command& command = find_in(all_commands(), words[0], "command", "trireme");
  const bool has_more = words.size() > 1 && words[1] != "--help" && words[1] != "-h";
  if (command.topics == nullptr || !has_more) return {command, 1};
  return {find_in(command.topics(), words[1], fmt::format("topic of {}", command.name),
                  fmt::format("trireme {}", command.name)),
          2};
}

Status run(const Command& command, const Invocation& invocation) {
  if (command.run != nullptr) return command.run(invocation);
  throw Error(Status::usage, "no topic\n" + command.help());
}

// Under a launcher, what all ranks would print is printed by one.
Status print_once(const std::string& text, const LaunchFacts& launch) {
  if (launch.rank == 0) std::fputs(text.c_str(), stdout);
  return Status::ok;
}

Status dispatch(int& argc, char**& argv, const LaunchFacts& launch, Accelerator* accelerator) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) throw Error(Status::usage, "no command\n" + overview());
  const std::string& first = words.front();
  if (first == "--version") return print_once(fmt::format("trireme {}\n", program_version()), launch);
  if (first == "--help" || first == "-h") return print_once(overview(), launch);
  if (first == "help")
    return print_once(
        words.size() == 1 ? overview() : find_command({words.begin() + 1, words.end()}).command.help(),
        launch);
  const auto [command, named] = find_command(words);
  const Invocation invocation{
      argc, argv, {words.begin() + static_cast<std::ptrdiff_t>(named), words.end()}, launch, accelerator};
  if (wants_help(invocation.arguments)) return print_once(command.help(), launch);
  return run(command, invocation);
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"pack", "put pictures into one HDF5 file", pack_help, run_pack_command},
      {"train", "train a network, alone or under mpirun or srun", train_command_help, run_train_command},
      {"eval", "measure the accuracy of a checkpoint", eval_help, run_eval_command},
      {"info", "tell about this build, a data file, a checkpoint or a run", info_help, run_info_command},
      {"bench", "measure parts of the program on this machine", bench_help, nullptr, bench_topics},
  };
  return commands;
}

std::string command_list(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) text += fmt::format("  {:<11}{}\n", command.name, command.summary);
  return text;
}

int run_command_line(int argc, char** argv, Accelerator* accelerator) {
  // A reader that goes away (`| head`) or a limit on file sizes must not end the program without a word:
  // writing fails with an error code instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const LaunchFacts launch = read_launch_facts();
  try {
    const Status status = dispatch(argc, argv, launch, accelerator);
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
