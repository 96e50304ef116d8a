// SPDX-License-Identifier: Apache-2.0
#include "src/train/flags.h"

#include <gmock/gmock.h>

namespace trireme {
namespace {

using testing::HasSubstr;

struct Settings {
  std::string output;
  double lr = 0;
  bool nesterov = false, guard = true;
};

std::vector<SettingOf<Settings>> table() {
  std::vector<SettingOf<Settings>> rows;
  add_group<Settings>(rows, "First",
                      {setting("output", &Settings::output, Text{"DIR"}, "", "where").with_letter('o'),
                       setting("lr", &Settings::lr, Number{.least = -10}, "0.5", "rate")});
  add_group<Settings>(rows, "Second",
                      {setting("nesterov", &Settings::nesterov, Switch{}, "false", "look ahead"),
                       setting("guard", &Settings::guard, Switch{}, "true", "careful")});
  return rows;
}

Settings read(const std::vector<std::string>& arguments) {
  Settings settings;
  apply_defaults(table(), settings);
  apply_flags(table(), read_flags(arguments, infos_of(table())), settings);
  return settings;
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    read(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Flags, TakesValuesInEverySpelling) {
  EXPECT_EQ(read({}).lr, 0.5);
  EXPECT_EQ(read({"--lr", "0.1"}).lr, 0.1);
  EXPECT_EQ(read({"--lr=0.1"}).lr, 0.1);
  EXPECT_EQ(read({"--lr", "-1"}).lr, -1);
  EXPECT_EQ(read({"-o", "run"}).output, "run");
  EXPECT_EQ(read({"-orun"}).output, "run");
  EXPECT_EQ(read({"--output=a=b"}).output, "a=b");
  EXPECT_EQ(read({"--output=--odd"}).output, "--odd");
}

TEST(Flags, SwitchesStandAloneOrWithAValue) {
  EXPECT_TRUE(read({"--nesterov"}).nesterov);
  EXPECT_TRUE(read({"--nesterov=yes"}).nesterov);
  EXPECT_FALSE(read({"--nesterov=false"}).nesterov);
  EXPECT_FALSE(read({"--no-nesterov"}).nesterov);
}

TEST(Flags, ASwitchDoesNotTakeTheNextWord) {
  const CommandLine line = read_flags({"--nesterov", "false"}, infos_of(table()));
  ASSERT_EQ(line.flags.size(), 1U);
  EXPECT_EQ(line.flags[0].value, "true");
  EXPECT_EQ(line.positionals, std::vector<std::string>{"false"});
}

TEST(Flags, KeepsPositionalsInOrder) {
  const CommandLine line = read_flags({"a", "--lr", "1", "b", "--", "--lr"}, infos_of(table()));
  EXPECT_EQ(line.positionals, (std::vector<std::string>{"a", "b", "--lr"}));
}

TEST(Flags, RefusesUnknownOnesWithTheNearestName) {
  EXPECT_EQ(refusal({"--outptu", "run"}), "unknown flag --outptu\n  hint: did you mean --output?");
  EXPECT_EQ(refusal({"--outptu=run"}), "unknown flag --outptu\n  hint: did you mean --output?");
  EXPECT_THAT(refusal({"--zzzzz"}), HasSubstr("unknown flag --zzzzz"));
  EXPECT_THAT(refusal({"-x"}), HasSubstr("unknown flag -x"));
  EXPECT_THAT(refusal({"--no-lr"}), HasSubstr("unknown flag --no-lr"));
}

TEST(Flags, DoesNotGuessFromTheBeginningOfAName) {
  EXPECT_THAT(refusal({"--outp", "run"}), HasSubstr("unknown flag --outp"));
  EXPECT_THAT(refusal({"--nest"}), HasSubstr("unknown flag --nest"));
}

TEST(Flags, RefusesDoubledOnes) {
  EXPECT_EQ(refusal({"--lr", "1", "--lr=2"}), "--lr is given twice");
  EXPECT_EQ(refusal({"-o", "a", "--output", "b"}), "--output is given twice");
  EXPECT_EQ(refusal({"--nesterov", "--no-nesterov"}), "--nesterov is given twice");
}

TEST(Flags, RefusesMissingAndSuperfluousValues) {
  EXPECT_THAT(refusal({"--lr"}), HasSubstr("--lr"));
  EXPECT_THAT(refusal({"--lr="}), HasSubstr("--lr"));
  EXPECT_THAT(refusal({"--output", "--lr"}), HasSubstr("--output"));
  EXPECT_THAT(refusal({"--output", "--lrr"}), HasSubstr("--output has no value"));
  EXPECT_THAT(refusal({"--no-nesterov=true"}), HasSubstr("no-nesterov"));
}

TEST(Flags, PutsTheFlagBeforeWhatIsWrongWithItsValue) {
  EXPECT_EQ(refusal({"--lr", "abc"}), "--lr: 'abc' is not a number");
  EXPECT_EQ(refusal({"--nesterov=maybe"}), "--nesterov: 'maybe' is neither true nor false");
}

TEST(Flags, HelpShowsGroupsNamesDefaultsAndTexts) {
  const std::string help = settings_help(infos_of(table()));
  for (const char* part : {"First:", "Second:", "-o [ --output ] DIR", "--lr X (=0.5)", "--nesterov ",
                           "--[no-]guard ", "look ahead", "careful (on by default)"})
    EXPECT_THAT(help, HasSubstr(part));
  EXPECT_LT(help.find("--lr"), help.find("Second:"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--no-nesterov")));
}

TEST(Flags, KnowsARequestForHelp) {
  EXPECT_TRUE(wants_help({"--lr", "1", "--help"}));
  EXPECT_TRUE(wants_help({"-h"}));
  EXPECT_FALSE(wants_help({"--lr", "1"}));
}

}  // namespace
}  // namespace trireme
