// SPDX-License-Identifier: Apache-2.0
#include "src/cli/failure.h"

#include <gmock/gmock.h>

#include <new>

namespace trireme {
namespace {

template <typename Thrown>
Failure failure_of(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_failure();
  }
}

TEST(Failure, AnErrorSaysItsOwnStatus) {
  const Failure failure = failure_of(make_error(Status::bad_data, "bad {}", 7).at("x.h5").hint("pack again"));
  EXPECT_EQ(failure.status, Status::bad_data);
  EXPECT_EQ(failure.message, "bad 7: x.h5\n  hint: pack again");
}

TEST(Failure, EverythingElseIsInternal) {
  EXPECT_EQ(failure_of(std::bad_alloc()).status, Status::internal);
  EXPECT_THAT(failure_of(std::bad_alloc()).message, testing::StartsWith("out of memory"));
  EXPECT_EQ(failure_of(std::runtime_error("boom")).status, Status::internal);
  EXPECT_EQ(failure_of(std::runtime_error("boom")).message, "internal error: boom");
  EXPECT_EQ(failure_of(5).status, Status::internal);
}

TEST(ReportFailure, ControlCharactersDoNotReachTheTerminal) {
  testing::internal::CaptureStderr();
  report_failure({Status::bad_data, "bad \033[2J\n  hint: none"}, LaunchFacts{});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "trireme: error: bad \\x1b[2J\n  hint: none\n");
}

TEST(ReportFailure, AWrongCommandLineOfAnotherRankIsSaid) {
  testing::internal::CaptureStderr();
  report_failure({Status::usage, "unknown flag --bogus"}, LaunchFacts{"mpirun (Open MPI)", 1, 2});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::StartsWith("[rank 1 on "));
  EXPECT_THAT(said, testing::EndsWith("] trireme: error: unknown flag --bogus\n"));
}

}  // namespace
}  // namespace trireme
