// SPDX-License-Identifier: Apache-2.0
// CommThread and what ranks tell each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/comm/comm_thread.h"
#include "src/core/error.h"
#include "tests/src/comm/collectives.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CommProgress : public testing::Test {
 protected:
  std::unique_ptr<CommThread> thread_of(int rank, WaitLimit limit) {
    auto progress = std::make_unique<FakeProgress>(rank, std::vector<std::string>{"a", "b", "c"}, script_);
    board_ = &progress->writable_board();
    auto thread = std::make_unique<CommThread>(std::move(progress), std::move(limit));
    thread->keep_flight([this](const std::string& flight) {
      const std::lock_guard lock(script_->mutex);
      flights_.push_back(flight);
    });
    return thread;
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::peer_gone);
      return error.what();
    }
    return "no error";
  }

  std::shared_ptr<FakeProgress::Script> script_ = std::make_shared<FakeProgress::Script>();
  ProgressBoard* board_ = nullptr;
  std::vector<std::string> flights_;
};

TEST_F(CommProgress, RecordsAreSentAlsoWhileNothingIsInFlight) {
  const auto thread = thread_of(2, 60s);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(script_->sent, 0) << "MPI belongs to main before the first submit";
  thread->activity().set(Doing::forward, 9);
  thread->wait(thread->submit(std::make_unique<Gate>("first", switched(true))));
  const int sent = script_->sent;
  ASSERT_TRUE(eventually([&] { return script_->sent > sent + 1; }));
  const std::lock_guard lock(script_->mutex);
  EXPECT_EQ(script_->last_sent->marks.completed, 1U);
  EXPECT_EQ(script_->last_sent->marks.text.view(), "first");
  EXPECT_EQ(script_->last_sent->step, 9);
}

TEST_F(CommProgress, AStallNamesWhoIsLateAndWhichSettingAllowsMore) {
  const auto thread = thread_of(0, 60s);
  ProgressRecord record;
  record.marks.submitted = 1;
  board_->heard(1, record);
  record.marks = {};
  record.doing = Doing::saving;
  board_->heard(2, record);
  const WaitLimitScope scope(*thread, {300ms, "--saving-timeout"});
  const Ticket ticket =
      thread->submit(std::make_unique<Gate>("sum of bucket 3", switched(false), "rank 2"), 4096);
  const std::string text = error_of([&] { thread->wait(ticket); });
  EXPECT_THAT(text, HasSubstr("waited 0.3 s for sum of bucket 3\n  rank 2 on c is late: "));
  EXPECT_THAT(text, AllOf(HasSubstr("saving after step 0"), Not(HasSubstr("rank 1 on b"))));
  EXPECT_THAT(text, HasSubstr("--saving-timeout allows longer waits"));
  const std::lock_guard lock(script_->mutex);
  ASSERT_EQ(flights_.size(), 1U);
  EXPECT_THAT(flights_[0],
              AllOf(HasSubstr("sum of bucket 3"), HasSubstr("\"bytes\": 4096"), HasSubstr("is late")));
  ASSERT_EQ(script_->raised.size(), 1U);
  EXPECT_THAT(script_->raised[0], AllOf(HasSubstr("waited 0.3 s for sum of bucket 3"), Not(HasSubstr("\n"))));
}

TEST_F(CommProgress, ALimitHoldsForWhatIsSubmittedInItsScope) {
  const auto thread = thread_of(0, 60s);
  const auto open = switched(false);
  {
    const WaitLimitScope scope(*thread, {3600s, "--staging-timeout"});
    thread->submit(std::make_unique<Gate>("patient", open));
  }
  const WaitLimit limit = thread->set_limit(200ms);
  EXPECT_EQ(limit.timeout, 60s);
  EXPECT_EQ(limit.setting, "--timeout");
  const Ticket second = thread->submit(std::make_unique<Gate>("hasty", switched(false)));
  EXPECT_THAT(error_of([&] { thread->wait(second); }), HasSubstr("waited 0.2 s for hasty"));
}

TEST_F(CommProgress, AnAlarmOfAnotherRankEndsEveryWaitAndKeepsTheRecorder) {
  const auto thread = thread_of(1, 60s);
  thread->wait(thread->submit(std::make_unique<Gate>("first", switched(true))));
  {
    const std::lock_guard lock(script_->mutex);
    script_->alarm = ProgressExchange::Alarm{0, "waited 8 s for bucket 3"};
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(script_->mutex);
    return !flights_.empty();
  })) << "although nothing is in flight";
  const auto submit = [&] { thread->wait(thread->submit(std::make_unique<Gate>("next", switched(true)))); };
  ASSERT_TRUE(eventually([&] { return error_of(submit) != "no error"; }));
  EXPECT_EQ(error_of(submit), "rank 0 on a has ended the run: waited 8 s for bucket 3");
  const std::lock_guard lock(script_->mutex);
  EXPECT_TRUE(script_->raised.empty()) << "every rank has the alarm already";
}

TEST_F(CommProgress, ARecorderThatCannotBeKeptChangesNothing) {
  const auto thread = thread_of(0, 100ms);
  thread->keep_flight([](const std::string&) { throw std::runtime_error("disk full"); });
  const Ticket ticket = thread->submit(std::make_unique<Gate>("never", switched(false)));
  EXPECT_THAT(error_of([&] { thread->wait(ticket); }), HasSubstr("waited 0.1 s for never"));
}

TEST_F(CommProgress, AnEndWaitsForTheOthersToLeaveButNotLong) {
  const auto end_seconds = [&](bool others_leave, bool used) {
    script_->others_leave = others_leave;
    auto thread = thread_of(0, 60s);
    if (used) thread->wait(thread->submit(std::make_unique<Gate>("first", switched(true))));
    const Stopwatch clock;
    thread.reset();
    return clock.seconds();
  };
  end_seconds(true, false);
  EXPECT_EQ(script_->farewells, 0) << "without collectives MPI is not touched";
  EXPECT_LT(end_seconds(true, true), 3);
  EXPECT_GE(script_->farewells, 1);
  const double slow = end_seconds(false, true);
  EXPECT_GE(slow, 3);
  EXPECT_LT(slow, 6);
}

TEST_F(CommProgress, WhileAnErrorUnwindsNobodyIsWaitedFor) {
  script_->others_leave = false;
  const Stopwatch clock;
  EXPECT_THROW(
      {
        const auto thread = thread_of(0, 60s);
        thread->wait(thread->submit(std::make_unique<Gate>("first", switched(true))));
        throw std::runtime_error("bad data");
      },
      std::runtime_error);
  EXPECT_LT(clock.seconds(), 3);
  EXPECT_EQ(script_->farewells, 0);
}

}  // namespace
}  // namespace trireme
