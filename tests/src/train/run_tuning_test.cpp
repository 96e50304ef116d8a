// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_tuning.h"

#include <gtest/gtest.h>

#include "src/core/error.h"

namespace trireme {
namespace {

TEST(RunTuning, TextIsReadBackExactly) {
  const RunTuning tuning{"ring", "4 ranks on 2 nodes (2 each)", {1 << 22, 12345, 1.25e-5, 1.1e9 / 3}, ""};
  EXPECT_EQ(parse_run_tuning(run_tuning_text(tuning)), tuning);
}

TEST(RunTuning, KeepsWhichEngineComputesWhichConvolution) {
  RunTuning tuning{"nccl", "2 ranks on 1 node (2)", {}, "bf16/8x8x8x64/64/3x3/1x1/1x1=native,cudnn,native"};
  EXPECT_EQ(parse_run_tuning(run_tuning_text(tuning)), tuning);
  tuning.engines.clear();
  EXPECT_EQ(run_tuning_text(tuning).find("engines"), std::string::npos);
  EXPECT_EQ(parse_run_tuning(run_tuning_text(tuning)), tuning);
}

TEST(RunTuning, RefusesWhatIsNoTuning) {
  for (const char* text :
       {"", "{}", "[1]", R"({"comm":"ring","topology":"x"})", R"({"comm":1,"topology":"x","messages":{}})"}) {
    try {
      parse_run_tuning(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::bad_data) << text;
    }
  }
}

}  // namespace
}  // namespace trireme
