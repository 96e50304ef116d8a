// SPDX-License-Identifier: Apache-2.0
#include "src/train/interval.h"

#include <gmock/gmock.h>

#include "src/core/error.h"

namespace trireme {
namespace {

using Unit = Interval::Unit;

struct Case {
  const char* text;
  Interval interval;
  const char* written;
};

TEST(Interval, ReadsCountAndUnitAndWritesThemBack) {
  const Case cases[] = {
      {"never", {Unit::never, 0}, "never"},          {"500steps", {Unit::steps, 500}, "500steps"},
      {"1step", {Unit::steps, 1}, "1step"},          {"1epoch", {Unit::epochs, 1}, "1epoch"},
      {"1epochs", {Unit::epochs, 1}, "1epoch"},      {"3epoch", {Unit::epochs, 3}, "3epochs"},
      {"15min", {Unit::minutes, 15}, "15min"},       {"0.5min", {Unit::minutes, 0.5}, "0.5min"},
      {"1e3steps", {Unit::steps, 1000}, "1000steps"}};
  for (const Case& c : cases) {
    EXPECT_EQ(parse_interval(c.text), c.interval) << c.text;
    EXPECT_EQ(interval_text(c.interval), c.written);
    EXPECT_EQ(parse_interval(c.written), c.interval);
  }
}

TEST(Interval, RefusesEverythingElse) {
  for (const char* text : {"", "500", "steps", "5 steps", "5hours", "-1epoch", "0steps", "1.5steps",
                           "0.5epoch", "nanmin", "infmin", "5steps ", "Never", "0x5steps"})
    EXPECT_THROW(parse_interval(text), Error) << text;
}

TEST(Interval, SaysWhatIsWrong) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse_interval(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("500"), testing::HasSubstr("'500' is not an interval such as 500steps, 1epoch"));
  EXPECT_THAT(message("0epochs"), testing::HasSubstr("not above 0"));
  EXPECT_THAT(message("1.5epochs"), testing::HasSubstr("not a whole number of epochs"));
}

TEST(Duration, ReadsUnitsAsSeconds) {
  EXPECT_EQ(parse_duration("600"), 600);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("10min"), 600);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("0.25s"), 0.25);
  for (const char* text : {"", "s", "10m", "10 min", "-5s", "0", "0h", "1e999", "2h30min"})
    EXPECT_THROW(parse_duration(text), Error) << text;
}

TEST(Duration, WritesTheLargestUnitThatDivides) {
  EXPECT_EQ(duration_text(7200), "2h");
  EXPECT_EQ(duration_text(600), "10min");
  EXPECT_EQ(duration_text(90), "90s");
  EXPECT_EQ(duration_text(0.1), "0.1s");
  for (const double seconds : {1.0, 59.0, 61.0, 3599.0, 3601.0, 1e7, 0.3, 1.0 / 3})
    EXPECT_EQ(parse_duration(duration_text(seconds)), seconds);
}

}  // namespace
}  // namespace trireme
