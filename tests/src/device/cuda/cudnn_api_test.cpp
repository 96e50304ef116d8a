// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cudnn_api.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(LoadCudnn, AMissingLibraryIsSaidWithItsCure) {
  std::string obstacle;
  EXPECT_EQ(load_cudnn(obstacle, "libnot_there_at_all.so.9"), nullptr);
  EXPECT_NE(obstacle.find("libnot_there_at_all.so.9"), std::string::npos) << obstacle;
  EXPECT_NE(obstacle.find("LD_LIBRARY_PATH"), std::string::npos) << obstacle;
}

TEST(LoadCudnn, AnotherLibraryIsNotTaken) {
  std::string obstacle;
  EXPECT_EQ(load_cudnn(obstacle, "libm.so.6"), nullptr);
  EXPECT_NE(obstacle.find("cudnnGetVersion"), std::string::npos) << obstacle;
}

TEST(LoadCudnn, OldVersionsAreRefused) {
  EXPECT_EQ(cudnn_version_obstacle(90000), "");
  EXPECT_EQ(cudnn_version_obstacle(91900), "");
  EXPECT_NE(cudnn_version_obstacle(8907).find("8.9.7"), std::string::npos);
  EXPECT_EQ(cudnn_version_text(91900), "9.19.0");
}

TEST(LoadCudnn, GivesEveryFunctionWhereTheLibraryIs) {
  std::string obstacle;
  const auto api = load_cudnn(obstacle);
  if (api == nullptr) GTEST_SKIP() << obstacle;
  EXPECT_EQ(obstacle, "");
  EXPECT_GE(api->get_version(), 90000U);
  EXPECT_NE(api->add_tensor, nullptr);
  EXPECT_STREQ(api->get_error_string(CUDNN_STATUS_SUCCESS), "CUDNN_STATUS_SUCCESS");
}

}  // namespace
}  // namespace trireme
