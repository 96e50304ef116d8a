// SPDX-License-Identifier: Apache-2.0
#include "src/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Error, ComposesMessagePlacesFromTheInsideOutAndHint) {
  const Error error = make_error(Status::bad_data, "label {} is too large", 12)
                          .at("sample 7")
                          .at("train.h5")
                          .hint("pack it again");
  EXPECT_STREQ(error.what(), "label 12 is too large: sample 7, train.h5\n  hint: pack it again");
  EXPECT_EQ(error.status(), Status::bad_data);
}

TEST(Error, IsOneLineWithoutHint) {
  const Error error(Status::usage, "no such command");
  EXPECT_STREQ(error.what(), "no such command");
}

TEST(Assert, ThrowsStatus70WithExpressionAndPlace) {
  try {
    TRIREME_ASSERT(1 + 1 == 3, "sums add up");
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::internal);
    EXPECT_THAT(error.what(), testing::HasSubstr("1 + 1 == 3"));
    EXPECT_THAT(error.what(), testing::HasSubstr("error_test.cpp:"));
  }
}

}  // namespace
}  // namespace trireme
