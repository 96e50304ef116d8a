// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

using testing::HasSubstr;

/// Completes when `*open` is set, after at least `steps` calls of step().
class Gate final : public Collective {
 public:
  Gate(std::string name, std::shared_ptr<std::atomic<bool>> open, int steps = 1)
      : name_(std::move(name)), open_(std::move(open)), steps_(steps) {}
  void start() override {}
  bool step() override { return --steps_ <= 0 && *open_; }
  std::string describe() const override { return name_; }

 private:
  std::string name_;
  std::shared_ptr<std::atomic<bool>> open_;
  int steps_;
};

std::shared_ptr<std::atomic<bool>> gate(bool open) {
  return std::make_shared<std::atomic<bool>>(open);
}

class Throwing final : public Collective {
 public:
  explicit Throwing(std::function<void()> fail) : fail_(std::move(fail)) {}
  void start() override {}
  bool step() override {
    fail_();
    return true;
  }
  std::string describe() const override { return "allreduce of bucket 7"; }

 private:
  std::function<void()> fail_;
};

/// The error of `wait`, for a look at its parts.
Error error_of_wait(CommThread& thread, Ticket ticket) {
  try {
    thread.wait(ticket);
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "no error");
}

TEST(CommThread, TicketZeroIsComplete) {
  CommThread thread(std::chrono::seconds(10));
  EXPECT_TRUE(thread.done(Ticket{}));
  thread.wait(Ticket{});
}

TEST(CommThread, LetsLaterCollectivesOvertakeEarlierOnes) {
  CommThread thread(std::chrono::seconds(60));
  const auto first_gate = gate(false), second_gate = gate(true);
  const Ticket first = thread.submit(std::make_unique<Gate>("first", first_gate));
  const Ticket second = thread.submit(std::make_unique<Gate>("second", second_gate, 20));
  thread.wait(second);
  EXPECT_TRUE(thread.done(second));
  EXPECT_FALSE(thread.done(first));
  *first_gate = true;
  thread.wait(first);
  EXPECT_TRUE(thread.done(first));
}

TEST(CommThread, StartsInTheOrderOfSubmissionAndStepsOnlyWhatIsStarted) {
  struct Log {
    std::vector<int> started;  // touched by the communication thread only, read after it has ended
  };
  class Numbered final : public Collective {
   public:
    Numbered(int number, Log& log) : number_(number), log_(log), steps_(1 + number % 7) {}
    void start() override {
      log_.started.push_back(number_);
      started_ = true;
    }
    bool step() override { return started_ && --steps_ == 0; }
    std::string describe() const override { return std::to_string(number_); }

   private:
    int number_;
    Log& log_;
    int steps_;
    bool started_ = false;
  };
  Log log;
  {
    CommThread thread(std::chrono::seconds(60));
    std::vector<Ticket> tickets;
    for (int i = 0; i < 2000; ++i) {
      tickets.push_back(thread.submit(std::make_unique<Numbered>(i, log)));
      if (i % 97 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));  // let it fall asleep
    }
    for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket) thread.wait(*ticket);
  }
  ASSERT_EQ(log.started.size(), 2000U);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(log.started[static_cast<std::size_t>(i)], i);
}

TEST(CommThread, WhatACollectiveWroteIsVisibleAfterWait) {
  class Adder final : public Collective {
   public:
    explicit Adder(std::vector<int>& values) : values_(values) {}
    void start() override {}
    bool step() override {
      for (int& value : values_) ++value;
      return true;
    }
    std::string describe() const override { return "adder"; }

   private:
    std::vector<int>& values_;
  };
  CommThread thread(std::chrono::seconds(60));
  std::vector<int> values(1000, 0);
  for (int round = 1; round <= 50; ++round) {
    thread.wait(thread.submit(std::make_unique<Adder>(values)));
    for (const int value : values) ASSERT_EQ(value, round);
    for (int& value : values) value = round;
  }
}

TEST(CommThread, ADeadlineFailsEveryWaiterAndNamesWhatItWaitedFor) {
  CommThread thread(std::chrono::duration<double>(0.25));
  const Ticket complete = thread.submit(std::make_unique<Gate>("quick", gate(true)));
  thread.wait(complete);
  const Ticket late = thread.submit(std::make_unique<Gate>("allreduce of bucket 3, 4.0 MiB", gate(false)));
  const Ticket other = thread.submit(std::make_unique<Gate>("allreduce of bucket 4", gate(false)));
  const Stopwatch clock;
  const Error error = error_of_wait(thread, late);
  EXPECT_GE(clock.seconds(), 0.2);
  EXPECT_LT(clock.seconds(), 5);
  EXPECT_EQ(error.status(), Status::peer_gone);
  EXPECT_THAT(error.what(), HasSubstr("waited 0.25 s for allreduce of bucket 3, 4.0 MiB"));
  EXPECT_THAT(error_of_wait(thread, other).what(), HasSubstr("bucket 3"));
  EXPECT_TRUE(thread.done(other));  // wait() does not block
  EXPECT_THROW(thread.submit(std::make_unique<Gate>("more", gate(true))), Error);
  thread.wait(complete);
}

TEST(CommThread, AnErrorOfACollectiveReachesTheWaiterWithItsStatus) {
  CommThread thread(std::chrono::seconds(60));
  const auto fail = [] { throw make_error(Status::peer_gone, "MPI_Testall failed: broken pipe"); };
  const Error error = error_of_wait(thread, thread.submit(std::make_unique<Throwing>(fail)));
  EXPECT_EQ(error.status(), Status::peer_gone);
  EXPECT_THAT(error.what(), HasSubstr("MPI_Testall failed: broken pipe: allreduce of bucket 7"));
}

TEST(CommThread, AnyOtherExceptionIsAnInternalError) {
  CommThread thread(std::chrono::seconds(60));
  const auto fail = [] { throw std::runtime_error("out of luck"); };
  const Error error = error_of_wait(thread, thread.submit(std::make_unique<Throwing>(fail)));
  EXPECT_EQ(error.status(), Status::internal);
  EXPECT_THAT(error.what(), HasSubstr("out of luck"));
  EXPECT_THAT(error.what(), HasSubstr("allreduce of bucket 7"));
}

TEST(CommThread, TheDestructorLetsWhatIsInFlightEnd) {
  const auto open = gate(false);
  std::atomic<bool> destroyed = false;
  class Marker final : public Collective {
   public:
    Marker(std::shared_ptr<std::atomic<bool>> open, std::atomic<bool>& mark)
        : open_(std::move(open)), mark_(mark) {}
    ~Marker() override { mark_ = open_->load(); }
    void start() override {}
    bool step() override { return *open_; }
    std::string describe() const override { return "marker"; }

   private:
    std::shared_ptr<std::atomic<bool>> open_;
    std::atomic<bool>& mark_;
  };
  std::thread opener;
  {
    CommThread thread(std::chrono::seconds(60));
    thread.submit(std::make_unique<Marker>(open, destroyed));
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      *open = true;
    });
  }
  EXPECT_TRUE(*open);
  EXPECT_TRUE(destroyed);
  opener.join();
}

TEST(CommThread, TheDestructorLeavesWhatNeverEnds) {
  std::promise<void> release;
  const auto never_complete = [] {
    const Stopwatch clock;
    {
      CommThread thread(std::chrono::seconds(600));
      thread.submit(std::make_unique<Gate>("never", gate(false)));
    }
    return clock.seconds();
  };
  const auto hanging = [released = release.get_future().share()] {
    const Stopwatch clock;
    {
      CommThread thread(std::chrono::seconds(600));
      thread.submit(std::make_unique<Throwing>([released] { released.wait(); }));
    }
    return clock.seconds();
  };
  auto first = std::async(std::launch::async, never_complete);
  auto second = std::async(std::launch::async, hanging);
  EXPECT_LT(first.get(), 7);
  EXPECT_LT(second.get(), 7);
  release.set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the left thread ends on its own
}

TEST(CommThread, CountsTheTimeThatWaitersBlock) {
  CommThread thread(std::chrono::seconds(60));
  const auto open = gate(false);
  const Ticket ticket = thread.submit(std::make_unique<Gate>("slow", open));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    *open = true;
  });
  EXPECT_EQ(thread.wait_seconds(), 0);
  thread.wait(ticket);
  opener.join();
  const double blocked = thread.wait_seconds();
  EXPECT_GE(blocked, 0.07);
  thread.wait(ticket);
  EXPECT_EQ(thread.wait_seconds(), blocked);
}

TEST(CommThread, SleepsWhenIdle) {
  CommThread thread(std::chrono::seconds(60));
  thread.wait(thread.submit(std::make_unique<Gate>("quick", gate(true))));
  const auto cpu_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.1);
}

}  // namespace
}  // namespace trireme
