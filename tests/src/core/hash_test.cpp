// SPDX-License-Identifier: Apache-2.0
#include "src/core/hash.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Xxh3, GivesThePublishedDigestOfNothing) {
  EXPECT_EQ(hex_of(xxh3("")), "2d06800538d394c2");
}

TEST(Hasher, EqualsTheHashOfTheConcatenation) {
  Hasher pieces;
  pieces.add("foo", 3).add("", 0).add("barbaz", 6);
  EXPECT_EQ(pieces.digest(), xxh3("foobarbaz"));
}

TEST(Hasher, TextsKeepTheirBorders) {
  Hasher a, b;
  a.add_text("ab").add_text("c");
  b.add_text("a").add_text("bc");
  EXPECT_NE(a.digest(), b.digest());
}

}  // namespace
}  // namespace trireme
