// SPDX-License-Identifier: Apache-2.0
#include "src/train/setting_value.h"

#include <gmock/gmock.h>

namespace trireme {
namespace {

using testing::HasSubstr;

template <typename Kind>
std::string refusal(const Kind& kind, const char* text) {
  try {
    kind.read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Integer, KeepsItsRange) {
  const Integer kind{1, 10};
  EXPECT_EQ(kind.read("10"), 10);
  EXPECT_THAT(refusal(kind, "0"), HasSubstr("'0' must be from 1 to 10"));
  EXPECT_THAT(refusal(kind, "11"), HasSubstr("from 1 to 10"));
  EXPECT_THAT(refusal(Integer{1}, "0"), HasSubstr("must be at least 1"));
  for (const char* text : {"", "abc", "1.0", "1e1", "0x1", " 1", "1 ", "1,000", "-"})
    EXPECT_THAT(refusal(kind, text), HasSubstr("is not a whole number")) << text;
  for (const char* text : {"99999999999999999999", "-99999999999999999999", "+99999999999999999999"})
    EXPECT_THAT(refusal(kind, text), HasSubstr("is out of range: from 1 to 10")) << text;
}

TEST(Integer, HasAWordForZero) {
  const Integer kind{1, 10, "auto"};
  EXPECT_EQ(kind.read("auto"), 0);
  EXPECT_EQ(kind.read("0"), 0);
  EXPECT_EQ(kind.write(0), "auto");
  EXPECT_EQ(kind.write(7), "7");
  EXPECT_EQ(Integer{}.write(0), "0");
  EXPECT_THAT(refusal(kind, "Auto"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal(kind, ""), HasSubstr("not a whole number"));
}

TEST(Number, KeepsItsRange) {
  EXPECT_EQ(Number{}.read("1e-4"), 1e-4);
  EXPECT_THAT(refusal(Number{}, "-0.1"), HasSubstr("at least 0"));
  EXPECT_THAT(refusal(Number{.open = true}, "0"), HasSubstr("above 0"));
  EXPECT_THAT(refusal(Number{0, 1}, "1.5"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal(Number{0, 1, true}, "1"), HasSubstr("above 0 and below 1"));
  EXPECT_EQ(Number({0, 1}).read("1"), 1);
  for (const char* text : {"", "abc", "0,1", "nan", "inf", "0x1p3", "1e999", "1.0f"})
    EXPECT_THAT(refusal(Number{}, text), HasSubstr("is not a number")) << text;
}

TEST(Number, WritesWhatItReadsBack) {
  for (const double value : {0.1, 1.0 / 3, 5e-4, 1e-300, 12345678.9})
    EXPECT_EQ(Number{}.read(Number{}.write(value)), value);
  EXPECT_EQ((Number{.zero_word = "none"}.write(0)), "none");
  EXPECT_EQ((Number{.open = true, .zero_word = "none"}.read("0")), 0);
}

TEST(Numbers, AreAscending) {
  EXPECT_EQ(Numbers{}.read("30,60.5,80"), (std::vector<double>{30, 60.5, 80}));
  EXPECT_EQ(Numbers{}.write({30, 60.5}), "30,60.5");
  EXPECT_TRUE(Numbers{}.read("").empty());
  EXPECT_THAT(refusal(Numbers{}, "60,30"), HasSubstr("must be above 0 and rise"));
  EXPECT_THAT(refusal(Numbers{}, "30,30"), HasSubstr("rise"));
  EXPECT_THAT(refusal(Numbers{}, "0,30"), HasSubstr("above 0"));
  EXPECT_THAT(refusal(Numbers{}, "30,,60"), HasSubstr("not a list of numbers"));
}

TEST(Switch, ReadsWords) {
  EXPECT_TRUE(Switch{}.read("on"));
  EXPECT_FALSE(Switch{}.read("false"));
  EXPECT_THAT(refusal(Switch{}, "maybe"), HasSubstr("neither true nor false"));
  EXPECT_TRUE(Switch{}.value_name().empty());
}

TEST(Choice, NamesTheNearestWord) {
  const Choice kind{{"cosine", "constant"}};
  EXPECT_EQ(kind.read("cosine"), "cosine");
  EXPECT_EQ(kind.value_name(), "cosine|constant");
  EXPECT_EQ(refusal(kind, "cosin"), "'cosin' is none of cosine, constant\n  hint: did you mean cosine?");
  EXPECT_EQ(refusal(kind, "x"), "'x' is none of cosine, constant");
}

TEST(EnumChoice, MapsWordsToValues) {
  enum class Colour { red, green };
  const EnumChoice<Colour> kind{{{"red", Colour::red}, {"green", Colour::green}}};
  EXPECT_EQ(kind.read("green"), Colour::green);
  EXPECT_EQ(kind.write(Colour::red), "red");
  EXPECT_EQ(kind.value_name(), "red|green");
  EXPECT_THAT(refusal(kind, "gren"), HasSubstr("did you mean green?"));
}

TEST(Text, IsOneLineThatAnIniFileHolds) {
  EXPECT_EQ(Text{}.read("a b=c #d"), "a b=c #d");
  EXPECT_EQ(Text{}.read(""), "");
  EXPECT_THAT(refusal(Text{}, "a\nb"), HasSubstr("control characters"));
  EXPECT_THAT(refusal(Text{}, " a"), HasSubstr("begins or ends with a space"));
  EXPECT_THAT(refusal(Text{}, "a "), HasSubstr("begins or ends with a space"));
}

TEST(NarrowValue, RefusesWhatTheFieldCannotHold) {
  EXPECT_EQ((narrow_value<int>(std::int64_t{5}, "5")), 5);
  EXPECT_THROW((narrow_value<int>(std::int64_t{1} << 40, "2^40")), Error);
  EXPECT_THROW((narrow_value<std::uint64_t>(std::int64_t{-1}, "-1")), Error);
}

}  // namespace
}  // namespace trireme
