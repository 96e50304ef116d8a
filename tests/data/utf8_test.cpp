// SPDX-License-Identifier: Apache-2.0
#include "data/utf8.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Utf8, WellFormedTextStays) {
  for (const std::string text :
       {"", "cat", "größe", "猫", "\xf0\x9f\x90\x88", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(to_utf8(text), text);
  }
}

TEST(Utf8, OtherBytesAreReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(to_utf8("caf\xe9"), "caf" + mark);
  EXPECT_EQ(to_utf8("\xc0\xaf"), mark + mark);                    // overlong
  EXPECT_EQ(to_utf8("\xed\xa0\x80"), mark + mark + mark);         // surrogate
  EXPECT_EQ(to_utf8("a\xf0\x9f\x90"), "a" + mark + mark + mark);  // ends early
  EXPECT_EQ(to_utf8("\xf5\x80\x80\x80z"), mark + mark + mark + mark + "z");
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xe0\x80\x80"));
}

}  // namespace
}  // namespace trireme
