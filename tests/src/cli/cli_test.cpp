// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "src/cli/command.h"
#include "tests/src/cli/command_line.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Commands, AreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_FALSE(command.summary.empty());
    EXPECT_THAT(command.help(), StartsWith("usage: trireme " + std::string(command.name)));
  }
}

TEST(CommandLine, TellsItsVersion) {
  const Outcome outcome = run_words({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("trireme [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST(CommandLine, HelpGoesToStandardOutput) {
  for (const char* spelling : {"--help", "-h", "help"}) {
    const Outcome outcome = run_words({spelling});
    EXPECT_EQ(outcome.status, 0);
    for (const Command& command : all_commands())
      EXPECT_THAT(outcome.out, HasSubstr(std::string(command.summary)));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(CommandLine, EveryCommandHasHelpInThreeSpellings) {
  for (const Command& command : all_commands()) {
    const std::string name(command.name);
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"help", name}, {name, "--help"}, {name, "-h"}}) {
      const Outcome outcome = run_words(words);
      EXPECT_EQ(outcome.status, 0);
      EXPECT_EQ(outcome.out, command.help());
      EXPECT_EQ(outcome.err, "");
    }
  }
}

TEST(CommandLine, AWrongCommandIsStatus64WithTheNearestName) {
  const Outcome outcome = run_words({"trein"});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_EQ(outcome.err, "trireme: error: unknown command 'trein'\n  hint: did you mean train?\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(run_words({"help", "pakc"}).status, 64);
  EXPECT_EQ(run_words({"--verbose"}).status, 64);
  const Outcome none = run_words({});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(none.err, HasSubstr("usage: trireme COMMAND"));
}

TEST(CommandLine, ATopicIsFoundBelowItsCommand) {
  const std::string help = run_words({"bench", "allreduce", "--help"}).out;
  EXPECT_THAT(help, StartsWith("usage: mpirun -n 4 trireme bench allreduce"));
  EXPECT_EQ(run_words({"help", "bench", "allreduce"}).out, help);
  EXPECT_THAT(run_words({"bench", "-h"}).out, HasSubstr("\n  allreduce "));
}

TEST(CommandLine, AMissingOrWrongTopicIsStatus64) {
  const Outcome none = run_words({"bench"});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(none.err, HasSubstr("\n  allreduce "));
  const Outcome wrong = run_words({"bench", "alreduce", "-e", "4M"});
  EXPECT_EQ(wrong.status, 64);
  EXPECT_EQ(wrong.err,
            "trireme: error: unknown topic of bench 'alreduce'\n  hint: did you mean allreduce?\n");
  EXPECT_EQ(run_words({"help", "bench", "nonesuch"}).status, 64);
}

TEST(CommandLine, AWrongFlagIsStatus64InEveryCommand) {
  using Words = std::vector<std::string>;
  for (Words words :
       {Words{"pack"}, Words{"train"}, Words{"eval"}, Words{"info"}, Words{"bench", "allreduce"}}) {
    words.emplace_back("--no-such-thing");
    const Outcome outcome = run_words(words);
    EXPECT_EQ(outcome.status, 64) << words[0];
    EXPECT_THAT(outcome.err, StartsWith("trireme: error: unknown flag --no-such-thing")) << words[0];
    EXPECT_EQ(outcome.out, "") << words[0];
  }
}

TEST(CommandLine, AWrongValueIsStatus64InEveryCommand) {
  EXPECT_EQ(run_words({"train", "--lr", "abc"}).err, "trireme: error: --lr: 'abc' is not a number\n");
  EXPECT_EQ(run_words({"eval", "--threads", "abc"}).err,
            "trireme: error: --threads: 'abc' is not a whole number\n");
  EXPECT_EQ(run_words({"pack", "--seed", "abc"}).err,
            "trireme: error: --seed: 'abc' is not a whole number\n");
  EXPECT_EQ(run_words({"pack", "--seed", "abc"}).status, 64);
}

// The launcher's variables, while a test plays one of its ranks.
class Rank {
 public:
  explicit Rank(const char* rank) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  }
  ~Rank() {
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
  }
};

TEST(CommandLine, UnderALauncherRankZeroSpeaksAlone) {
  {
    const Rank first("0");
    EXPECT_THAT(run_words({"train", "--lr", "abc"}).err, StartsWith("trireme: error: --lr"));
    EXPECT_THAT(run_words({"train", "--help"}).out, HasSubstr("usage"));
  }
  const Rank second("1");
  const Outcome help = run_words({"train", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err + help.out, "");
  EXPECT_EQ(run_words({"--version"}).out, "");
}

TEST(CommandLine, OtherErrorsOfARankNameIt) {
  const Rank second("1");
  const Outcome outcome = run_words({"pack", "/nonexistent", "-o", "/nonexistent/x.h5"});
  EXPECT_EQ(outcome.status, 78);
  EXPECT_THAT(outcome.err, StartsWith("[rank 1 on "));
  EXPECT_THAT(outcome.err, HasSubstr("pack works in one process"));
}

TEST(CommandLine, IgnoresReadersThatGoAway) {
  run_words({"--version"});
  EXPECT_EQ(std::signal(SIGPIPE, SIG_IGN), SIG_IGN);
}

// With MPI up an error ends the process, so these run in a child.
int train(std::vector<std::string> words) {
  words.insert(words.begin(), {"trireme", "train"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return run_command_line(static_cast<int>(words.size()), argv.data());
}

TEST(CommandLineDeathTest, AnErrorWithMpiUpHasItsStatusAndOneMessage) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::exit(train({"--data", "d.h5", "-o", "run"})), testing::ExitedWithCode(64),
              "^trireme: error: missing --model");
  EXPECT_EXIT(std::exit(train({"--data", "d.h5", "--model", "lenet", "-o", "run", "--gamma", "0.5"})),
              testing::ExitedWithCode(78), "^trireme: error: --gamma is only for --schedule step");
}

TEST(CommandLineDeathTest, OutputThatCannotBeWrittenIsStatus74) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto version_to_full_disk = [] {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(1);
    std::string name = "trireme", version = "--version";
    char* argv[] = {name.data(), version.data(), nullptr};
    std::_Exit(run_command_line(2, argv));
  };
  EXPECT_EXIT(version_to_full_disk(), testing::ExitedWithCode(74), "cannot write to standard output");
}

}  // namespace
}  // namespace trireme
