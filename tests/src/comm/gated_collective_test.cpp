// SPDX-License-Identifier: Apache-2.0
#include "src/comm/gated_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/src/comm/collectives.h"
#include "tests/support/host_stream.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::ClosedStream;
using testing_support::eventually;
using testing_support::Gate;
using testing_support::switched;

/// Notes when it is started, and is complete then.
class Noting final : public Collective {
 public:
  Noting(int number, std::vector<int>& started) : number_(number), started_(started) {}
  void start() override { started_.push_back(number_); }
  bool step() override { return true; }
  std::string describe() const override { return std::to_string(number_); }

 private:
  int number_;
  std::vector<int>& started_;  // of the communication thread until it has ended
};

std::unique_ptr<Event> point_in(Stream& stream) {
  auto event = stream.make_event();
  stream.record(*event);
  return event;
}

TEST(GatedCollective, BeginsWhenTheStreamHasComeToIt) {
  std::vector<int> started;
  ClosedStream stream;
  CommThread thread(std::chrono::seconds(60));
  const auto order = std::make_shared<StartOrder>();
  const Ticket ticket = thread.submit(
      std::make_unique<GatedCollective>(std::make_unique<Noting>(1, started), point_in(stream), order));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(thread.done(ticket));
  stream.open();
  thread.wait(ticket);
  EXPECT_EQ(started, std::vector<int>{1});
}

TEST(GatedCollective, BeginsInTheOrderOfSubmissionWhicheverStreamIsFirst) {
  std::vector<int> started;
  ClosedStream early, late;
  CommThread thread(std::chrono::seconds(60));
  const auto order = std::make_shared<StartOrder>();
  const auto submit = [&](int number, std::unique_ptr<Event> made) {
    return thread.submit(
        std::make_unique<GatedCollective>(std::make_unique<Noting>(number, started), std::move(made), order));
  };
  const Ticket first = submit(1, point_in(late));
  const Ticket second = submit(2, point_in(early));
  const Ticket third = submit(3, nullptr);
  early.open();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(thread.done(second));
  EXPECT_FALSE(thread.done(third));
  late.open();
  for (const Ticket ticket : {first, second, third}) thread.wait(ticket);
  EXPECT_EQ(started, (std::vector<int>{1, 2, 3}));
}

std::string deadline_text(std::unique_ptr<Event> made, std::unique_ptr<Collective> collective) {
  CommThread thread(std::chrono::milliseconds(200));
  try {
    thread.wait(thread.submit(std::make_unique<GatedCollective>(std::move(collective), std::move(made),
                                                                std::make_shared<StartOrder>())));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::peer_gone);
    return error.what();
  }
  return "no error";
}

TEST(GatedCollective, ADeviceThatDoesNotComeIsNamedAtTheDeadline) {
  ClosedStream stream;
  const std::string text =
      deadline_text(point_in(stream), std::make_unique<Gate>("allreduce of bucket 3", switched(true)));
  EXPECT_THAT(text,
              HasSubstr("waited 0.2 s for allreduce of bucket 3, waiting for the device to make its tensor"));
}

TEST(GatedCollective, OnceItHasBegunTheDeviceIsNotBlamed) {
  const std::string text =
      deadline_text(nullptr, std::make_unique<Gate>("allreduce of bucket 3", switched(false), "rank 2"));
  EXPECT_THAT(text, HasSubstr("waited 0.2 s for allreduce of bucket 3; rank 2 did not come"));
  EXPECT_THAT(text, Not(HasSubstr("device")));
}

/// Remembers that it was abandoned.
class Abandonable final : public Collective {
 public:
  explicit Abandonable(std::atomic<int>& count) : count_(count) {}
  void start() override {}
  bool step() override { return false; }
  std::string describe() const override { return "allreduce"; }
  void abandon() noexcept override { ++count_; }

 private:
  std::atomic<int>& count_;
};

TEST(CommThread, AFailureAbandonsAllThatIsInFlightOnce) {
  std::atomic<int> abandoned{0};
  CommThread thread(std::chrono::milliseconds(200));
  const Ticket first = thread.submit(std::make_unique<Abandonable>(abandoned));
  thread.submit(std::make_unique<Abandonable>(abandoned));
  EXPECT_THROW(thread.wait(first), Error);
  EXPECT_TRUE(eventually([&] { return abandoned == 2; }));
  EXPECT_THROW(thread.submit(std::make_unique<Abandonable>(abandoned)), Error);
}

}  // namespace
}  // namespace trireme
