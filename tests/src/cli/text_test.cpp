// SPDX-License-Identifier: Apache-2.0
#include "src/cli/text.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Text, CountsHaveCommasEveryThreeDigits) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(50000), "50,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(count_text(-123456), "-123,456");
}

TEST(Text, BytesHaveAUnit) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(153617408), "146.5 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{3} << 40), "3.0 TiB");
}

TEST(Text, ControlCharactersAreShownNotObeyed) {
  EXPECT_EQ(printable("a\033[2Jb\n\x7f c"), "a\\x1b[2Jb\\x0a\\x7f c");
  EXPECT_EQ(printable("K\u00e4fer"), "K\u00e4fer");
  EXPECT_EQ(printable_lines("a\r\nb\t"), "a\\x0d\nb\\x09");
}

TEST(Text, OneIsSingular) {
  EXPECT_EQ(counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(counted(0, "class", "classes"), "0 classes");
  EXPECT_EQ(counted(1000, "class", "classes"), "1,000 classes");
}

}  // namespace
}  // namespace trireme
