// SPDX-License-Identifier: Apache-2.0
#include "src/train/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using testing::HasSubstr;

std::string said(std::optional<std::int64_t> saved_ranks, const std::string& wire, int ranks) {
  Checkpoint header;
  header.residual_ranks = saved_ranks;
  TrainConfig config = default_train_config();
  config.wire = wire;
  return residuals_on_resume(header, config, ranks);
}

TEST(ResidualsOnResume, NothingIsSaidWhereNothingChanges) {
  EXPECT_EQ(said(std::nullopt, "fp32", 4), "");
  EXPECT_EQ(said(4, "bf16", 4), "");
  EXPECT_EQ(said(4, "fp16", 4), "");  // what is owed does not depend on what it will travel as
}

TEST(ResidualsOnResume, EveryChangeIsSaid) {
  EXPECT_THAT(said(std::nullopt, "fp16", 2), HasSubstr("no residuals for --wire fp16: they begin at zero"));
  EXPECT_THAT(said(4, "fp32", 4), HasSubstr("residuals are dropped"));
  EXPECT_THAT(said(4, "bf16", 3), HasSubstr("residuals of 4 ranks are summed onto rank 0"));
}

}  // namespace
}  // namespace trireme
