// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/comm/collectives.h"
#include "tests/src/comm/in_child.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using testing::HasSubstr;

constexpr CommGuard::Patience kQuick{0.3s, 0.5s, 0.5s, 0.5s};

/// A state in which the thread does not say anything.
std::shared_ptr<CommState> state_of(int rank) {
  const auto script = std::make_shared<FakeProgress::Script>();
  const std::vector<std::string> hosts{"a", "b"};
  return std::make_shared<CommState>(std::make_shared<FakeProgress>(rank, hosts, script), 100ms);
}

void add_started(CommState& state, std::uint64_t id) {
  const std::lock_guard lock(state.mutex);
  state.active.emplace_back();
  state.active.back().id = id;
  state.active.back().collective = std::make_unique<Gate>(fmt::format("bucket {}", id), switched(false));
  state.active.back().limit = state.limit;
}

bool has_failed(const CommState& state) {
  const std::lock_guard lock(state.mutex);
  return state.failure.has_value();
}

TEST(CommGuard, FailsTheCollectivesOfAThreadThatHangs) {
  const auto state = state_of(0);
  std::atomic<int> kept = 0;
  state->keep_flight = [&](const std::string&) { ++kept; };
  add_started(*state, 7);
  const CommGuard guard(state);  // with time for main, which this test is
  ASSERT_TRUE(eventually([&] { return has_failed(*state); }));
  EXPECT_TRUE(state->hangs);
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(state->failure->status(), Status::peer_gone);
  EXPECT_THAT(
      state->failure->what(),
      HasSubstr("the communication thread hangs in the MPI library, waiting for bucket 7\n  rank 1 on b"));
}

TEST(CommGuard, ANewCollectiveOrARestartBeginsANewWait) {
  const auto state = state_of(0);
  add_started(*state, 1);
  const CommGuard guard(state, {1s, 60s, 60s, 60s});
  for (int round = 0; round < 6; ++round) {
    std::this_thread::sleep_for(500ms);
    const std::lock_guard lock(state->mutex);
    if (round < 3)
      ++state->restarts;  // the thread has noticed a suspension
    else
      ++state->active.front().id;
  }
  EXPECT_FALSE(has_failed(*state));
  EXPECT_TRUE(eventually([&] { return has_failed(*state); }));
}

TEST(CommGuard, DoesNothingWhileNothingIsInFlight) {
  const auto state = state_of(0);
  {
    const CommGuard guard(state, kQuick);
    std::this_thread::sleep_for(1200ms);
  }
  EXPECT_FALSE(has_failed(*state));
}

TEST(CommGuard, EndsAProcessWhoseMainThreadDoesNotActOnAFailure) {
  const Ended ended = in_child([] {
    const auto state = state_of(1);
    const CommGuard guard(state, kQuick);
    state->fail(Error(Status::peer_gone, "waited 8 s for bucket 3"));
    for (;;) pause();
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 69);
  EXPECT_EQ(ended.err, "[rank 1 on b] trireme: error: waited 8 s for bucket 3\n");
}

TEST(CommGuard, EndsAProcessThatHangsAfterAnErrorOfMainWithItsStatus) {
  const Ended ended = in_child([] {
    const auto state = state_of(0);
    const CommGuard guard(state, kQuick);
    {
      const std::lock_guard lock(state->mutex);
      state->given_up = Error(Status::io_error, "the disk is gone");
    }
    for (;;) pause();
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 74);
  EXPECT_EQ(ended.err, "trireme: error: the disk is gone\n");
}

TEST(CommGuard, EndsTheProcessAlsoWhereWritingHangs) {
  const Ended ended = in_child([] {
    const auto state = state_of(0);
    state->keep_flight = [](const std::string&) {
      for (;;) pause();
    };
    const CommGuard guard(state, kQuick);
    {
      const std::lock_guard lock(state->mutex);
      state->failure = Error(Status::peer_gone, "a message");
    }
    for (;;) pause();
  });
  ASSERT_TRUE(WIFEXITED(ended.wait_status));
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 69);
  EXPECT_EQ(ended.err, "trireme: error: a message\n");
}

TEST(CommThreadAndGuard, AThreadThatHangsIsLeftAndTheWaiterToldSo) {
  const auto open = switched(false);
  const Stopwatch clock;
  {
    CommThread thread(200ms);
    const Ticket ticket = thread.submit(std::make_unique<Hanging>(open));
    try {
      thread.wait(ticket);
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("hangs in the MPI library, waiting for allreduce of bucket 5"));
    }
  }
  EXPECT_LT(clock.seconds(), 30);
  *open = true;  // the thread that was left ends
  std::this_thread::sleep_for(100ms);
}

}  // namespace
}  // namespace trireme
