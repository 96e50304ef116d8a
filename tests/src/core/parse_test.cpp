// SPDX-License-Identifier: Apache-2.0
#include "src/core/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>

namespace trireme {
namespace {

TEST(ParseInt, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-17"), -17);
  EXPECT_EQ(parse_int("+17"), 17);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* bad :
       {"", " 1", "1 ", "1.0", "1e3", "0x10", "abc", "1,000", "9223372036854775808", "--1", "+", "+-1"})
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
}

TEST(ParseDouble, TakesFiniteDecimalNumbersOnly) {
  EXPECT_EQ(parse_double("0.1"), 0.1);
  EXPECT_EQ(parse_double("1e-4"), 1e-4);
  EXPECT_EQ(parse_double("-3"), -3.0);
  EXPECT_EQ(parse_double("+2.5"), 2.5);
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "0,5", "1.0f", "0x1p3", " 1", "1 ", "+-1"})
    EXPECT_EQ(parse_double(bad), std::nullopt) << bad;
}

TEST(ParseDouble, DoesNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where the machine has it
  EXPECT_EQ(parse_double("0.5"), 0.5);
  EXPECT_EQ(parse_double("0,5"), std::nullopt);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(ParseBool, KnowsItsWords) {
  EXPECT_EQ(parse_bool("true"), true);
  EXPECT_EQ(parse_bool("on"), true);
  EXPECT_EQ(parse_bool("0"), false);
  EXPECT_EQ(parse_bool("no"), false);
  EXPECT_EQ(parse_bool("TRUE"), std::nullopt);
  EXPECT_EQ(parse_bool(""), std::nullopt);
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b", ','), testing::ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a", ','), testing::ElementsAre("a"));
  EXPECT_THAT(split("a,", ','), testing::ElementsAre("a", ""));
  EXPECT_THAT(split("", ','), testing::IsEmpty());
}

TEST(NearestName, FindsTyposAndRefusesStrangers) {
  const std::vector<std::string> names = {"global-batch", "epochs", "lr"};
  EXPECT_EQ(nearest_name("gobal-batch", names), "global-batch");
  EXPECT_EQ(nearest_name("epoch", names), "epochs");
  EXPECT_EQ(nearest_name("ls", names), "lr");
  EXPECT_EQ(nearest_name("rl", names), "lr");
  EXPECT_EQ(nearest_name("epohcs", names), "epochs");
  EXPECT_EQ(nearest_name("momentum", names), "");
}

}  // namespace
}  // namespace trireme
