// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.h"

namespace trireme {
namespace {

TEST(TuningText, IsOneLineOfJsonWithTheUnits) {
  const CommTuning tuning{
      .segment_bytes = 4096, .small_bytes = 0, .latency_seconds = 0.25, .bytes_per_second = 8};
  EXPECT_EQ(tuning_text(tuning),
            R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":0.25,"bytes_per_second":8.0})");
}

TEST(TuningText, IsReadBackExactly) {
  const CommTuning tuning{std::int64_t{1} << 30, 123457, 1.0 / 3e6, 1.23456789012345e9};
  EXPECT_EQ(parse_tuning(tuning_text(tuning)), tuning);
  EXPECT_EQ(parse_tuning(tuning_text(CommTuning{})), CommTuning{});
}

TEST(TuningText, RefusesEverythingElse) {
  for (const char* text : {
           "",
           "{}",
           "[]",
           "4096",
           "nonsense",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":0.25})",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":0.25,"bytes_per_second":8,"more":1})",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":0.25,"bytes":8})",
           R"({"segment_bytes":0,"small_bytes":0,"latency_seconds":0.25,"bytes_per_second":8})",
           R"({"segment_bytes":4096.5,"small_bytes":0,"latency_seconds":0.25,"bytes_per_second":8})",
           R"({"segment_bytes":4096,"small_bytes":-1,"latency_seconds":0.25,"bytes_per_second":8})",
           R"({"segment_bytes":4096,"small_bytes":9999999999,"latency_seconds":0.25,"bytes_per_second":8})",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":-0.25,"bytes_per_second":8})",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":"0.25","bytes_per_second":8})",
           R"({"segment_bytes":4096,"small_bytes":0,"latency_seconds":0.25,"bytes_per_second":8} and more)",
       }) {
    try {
      parse_tuning(text);
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::bad_data) << text;
    }
  }
}

}  // namespace
}  // namespace trireme
