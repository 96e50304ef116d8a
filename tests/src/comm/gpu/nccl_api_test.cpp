// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using testing::HasSubstr;

TEST(NcclApi, ALibraryThatIsNotThereIsAMessage) {
  const NcclLibrary library = open_nccl("libnccl-of-nobody.so.2");
  EXPECT_THAT(library.obstacle, HasSubstr("NCCL cannot be loaded: libnccl-of-nobody.so.2"));
  EXPECT_THAT(library.obstacle, HasSubstr("LD_LIBRARY_PATH"));
}

TEST(NcclApi, ALibraryThatIsAnotherIsAMessage) {
  EXPECT_THAT(open_nccl("libm.so.6").obstacle, HasSubstr("libm.so.6 has no function ncclGetVersion"));
}

TEST(NcclApi, VersionsBeforeCommunicatorsThatDoNotBlockAreTooOld) {
  EXPECT_EQ(nccl_version_obstacle(21403), "");
  EXPECT_EQ(nccl_version_obstacle(22809), "");
  EXPECT_THAT(nccl_version_obstacle(21210), HasSubstr("NCCL 2.12.10 is too old: version 2.14.3 or newer"));
  EXPECT_THAT(nccl_version_obstacle(2708), HasSubstr("NCCL 2.7.8 is too old"));
}

}  // namespace
}  // namespace trireme
