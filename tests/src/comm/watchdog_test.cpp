// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "src/core/deadline.h"
#include "tests/src/comm/in_child.h"

namespace trireme {
namespace {

using std::chrono::duration;
using testing::HasSubstr;
using testing_support::Ended;
using testing_support::in_child;

Watchdog::Wait wait_of(double seconds, int rank) {
  return {"MPI to start (MPI_Init)", "look at the other ranks", rank, duration<double>(seconds)};
}

TEST(Watchdog, EndsTheProcessWhenTheTimeIsOver) {
  const Ended ended = in_child([] {
    const Watchdog dog(wait_of(0.1, 0));
    for (;;) pause();
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 69);
  EXPECT_THAT(ended.err,
              testing::StartsWith("trireme: error: waited 0.1 s for MPI to start (MPI_Init) on rank 0 of "));
  EXPECT_THAT(ended.err, testing::EndsWith("\n  hint: look at the other ranks\n"));
}

TEST(Watchdog, LeavesRankZeroTimeToSpeakFirst) {
  const Stopwatch clock;
  const Ended ended = in_child([] {
    const Watchdog dog(wait_of(0.1, 3));
    for (;;) pause();
  });
  EXPECT_GE(clock.seconds(), 4);
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 69);
  EXPECT_THAT(ended.err, HasSubstr("on rank 3 of "));
}

TEST(Watchdog, DoesNothingOnceItIsGone) {
  const Ended ended = in_child([] {
    { const Watchdog dog(wait_of(0.2, 0)); }
    usleep(400'000);
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 0);
  EXPECT_EQ(ended.err, "");
}

TEST(Watchdog, LeavesSignalsToTheOtherThreads) {
  const Ended ended = in_child([] {
    const Watchdog dog(wait_of(30, 0));
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    kill(getpid(), SIGTERM);  // to whichever thread takes it: none does
    usleep(100'000);
    sigset_t pending;
    sigpending(&pending);
    _exit(sigismember(&pending, SIGTERM) == 1 ? 5 : 6);
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 5);
}

}  // namespace
}  // namespace trireme
