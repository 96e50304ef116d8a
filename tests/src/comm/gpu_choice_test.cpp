// SPDX-License-Identifier: Apache-2.0
#include "src/comm/gpu_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using testing::HasSubstr;

std::vector<GpuFacts> gpus(int count) {
  std::vector<GpuFacts> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)].index = i;
  return all;
}

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "no error");
}

TEST(GpuChoice, RanksTakeVisibleGpusInTurn) {
  EXPECT_EQ(gpu_index(gpus(4), {}, 0), 0);
  EXPECT_EQ(gpu_index(gpus(4), {}, 3), 3);
  EXPECT_EQ(gpu_index(gpus(4), {}, 5), 1);
  EXPECT_EQ(gpu_index(gpus(1), {}, 3), 0) << "the launcher shows each rank one";
}

TEST(GpuChoice, AnIndexThatIsAskedForMustBeThere) {
  EXPECT_EQ(gpu_index(gpus(4), 2, 0), 2);
  const Error error = error_of([] { gpu_index(gpus(2), 2, 0); });
  EXPECT_EQ(error.status(), Status::configuration);
  EXPECT_THAT(error.what(), HasSubstr("--device cuda:2: this rank sees 2 GPUs"));
}

TEST(GpuChoice, EachItsOwnGpuIsNotSharing) {
  EXPECT_EQ(count_sharing({"GPU-a", "GPU-b", "GPU-c"}, 1, 1, "node7"), 1);
}

TEST(GpuChoice, TwoRanksOnOneGpuAreRefusedWithTheCures) {
  const Error error = error_of([] { count_sharing({"GPU-a", "GPU-b", "GPU-a"}, 2, 1, "node7"); });
  EXPECT_EQ(error.status(), Status::configuration);
  for (const char* const part : {"ranks 0, 2", "GPU-a", "node7", "--gpus-per-task=1", "--ranks-per-gpu 2"})
    EXPECT_THAT(error.what(), HasSubstr(part));
}

TEST(GpuChoice, SoManyMayShareAsAreAllowed) {
  EXPECT_EQ(count_sharing({"GPU-a", "GPU-b", "GPU-a"}, 2, 2, "node7"), 2);
  EXPECT_EQ(count_sharing({"GPU-a", "GPU-b", "GPU-a"}, 1, 2, "node7"), 1);
  EXPECT_EQ(error_of([] {
              count_sharing({"MIG-a", "MIG-a", "MIG-a"}, 0, 2, "node7");
            }).status(),
            Status::configuration);
}

}  // namespace
}  // namespace trireme
