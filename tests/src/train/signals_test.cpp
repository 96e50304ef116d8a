// SPDX-License-Identifier: Apache-2.0
#include "src/train/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/train/stop_request.h"
#include "src/train/time_limit.h"

namespace trireme {
namespace {

TEST(StopSignals, AskForAStopAndKeepTheFirst) {
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2}) {
    const StopSignals signals;
    EXPECT_EQ(signals.received(), 0);
    raise(signal);
    EXPECT_EQ(signals.received(), signal);
    raise(SIGCONT);
    EXPECT_EQ(signals.received(), signal);
  }
}

TEST(StopSignals, TheSameRequestTwiceIsOne) {
  const StopSignals signals;
  raise(SIGUSR1);
  raise(SIGTERM);
  EXPECT_EQ(signals.received(), SIGUSR1);
}

TEST(StopSignals, AnInnerOneKeepsWhatIsPending) {
  {
    const StopSignals outer;
    raise(SIGUSR1);
    {
      const StopSignals inner;
      EXPECT_EQ(inner.received(), SIGUSR1);
      raise(SIGUSR2);
    }
    raise(SIGUSR2);  // still only a request
    EXPECT_EQ(outer.received(), SIGUSR1);
  }
  EXPECT_EQ(StopSignals().received(), 0);
}

TEST(StopSignals, OthersAreNotTouchedAndOursAreRestored) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    const StopSignals signals;
    struct sigaction interrupt {};
    sigaction(SIGINT, nullptr, &interrupt);
    EXPECT_EQ(interrupt.sa_handler, SIG_DFL);
  }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(StopSignals, ALaterSecondSignalEndsTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    const StopSignals signals;
    raise(SIGUSR1);
    usleep(2'200'000);
    raise(SIGTERM);
    _exit(0);  // not reached
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(StopRequest, SaysWhoAsked) {
  const StopRequest request(TimeLimit{});
  EXPECT_FALSE(request.pending());
  EXPECT_EQ(request.reason(), "");
  raise(SIGUSR2);
  EXPECT_TRUE(request.pending());
  EXPECT_EQ(request.reason(), "SIGUSR2");
}

TEST(StopRequest, PendsWhenTheTimeIsUp) {
  const StopRequest request({0.02, "--max-time"});
  EXPECT_FALSE(request.pending());
  usleep(30'000);
  EXPECT_TRUE(request.pending());
  EXPECT_EQ(request.reason(), "--max-time");
}

TEST(TimeLimit, TheFlagWinsOverTheScheduler) {
  EXPECT_EQ(find_time_limit(600, 60, "5000", 1000).seconds, 540);
  EXPECT_EQ(find_time_limit(600, 60, "5000", 1000).decided_by, "--max-time");
  EXPECT_EQ(find_time_limit(0, 60, "5000", 1000).seconds, 3940);
  EXPECT_EQ(find_time_limit(0, 60, "5000", 1000).decided_by, "SLURM_JOB_END_TIME");
}

TEST(TimeLimit, AnEndThatIsNearOrPastStopsSoon) {
  EXPECT_EQ(find_time_limit(0, 60, "1030", 1000).seconds, 1);
}

TEST(TimeLimit, WithoutAnyThereIsNoLimit) {
  EXPECT_EQ(find_time_limit(0, 60, "", 1000).seconds, 0);
  EXPECT_EQ(find_time_limit(0, 60, "soon", 1000).seconds, 0);
  EXPECT_EQ(find_time_limit(0, 60, "0", 1000).seconds, 0);
}

}  // namespace
}  // namespace trireme
