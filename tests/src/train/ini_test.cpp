// SPDX-License-Identifier: Apache-2.0
#include "src/train/ini.h"

#include <gmock/gmock.h>

#include "src/core/error.h"

namespace trireme {
namespace {

using testing::HasSubstr;

TEST(Ini, ReadsKeysWithTheirPlaces) {
  const auto entries =
      read_ini("# comment\n; another\n\n[Data]\r\n lr = 0.1 \nname=a=b # c\r\nempty=", "run.ini");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].key, "lr");
  EXPECT_EQ(entries[0].value, "0.1");
  EXPECT_EQ(entries[0].place, "run.ini:5");
  EXPECT_EQ(entries[1].key, "name");
  EXPECT_EQ(entries[1].value, "a=b # c");
  EXPECT_EQ(entries[2].value, "");
}

TEST(Ini, AByteOrderMarkIsNoPartOfTheFirstKey) {
  const auto entries = read_ini("\xef\xbb\xbflr=0.1\n", "run.ini");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].key, "lr");
}

TEST(Ini, RefusesOtherLinesAndDoubledKeys) {
  const auto refusal = [](const char* text) {
    try {
      read_ini(text, "run.ini");
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::configuration);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("lr=1\nmomentum 0.9\n"), HasSubstr("run.ini:2: 'momentum 0.9' is not name = value"));
  EXPECT_THAT(refusal("=1\n"), HasSubstr("run.ini:1"));
  EXPECT_THAT(refusal("[open\n"), HasSubstr("run.ini:1"));
  EXPECT_THAT(refusal("lr=1\n\nlr=2\n"),
              HasSubstr("run.ini:3: lr is set twice\n  hint: it stands first at run.ini:1"));
}

}  // namespace
}  // namespace trireme
