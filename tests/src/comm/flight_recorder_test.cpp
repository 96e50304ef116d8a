// SPDX-License-Identifier: Apache-2.0
#include "src/comm/flight_recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace trireme {
namespace {

TEST(FlightRecorder, KeepsWhatACollectiveWentThrough) {
  FlightRecorder recorder;
  recorder.submitted(1, "allreduce of bucket 0", 4096);
  recorder.submitted(2, "allreduce of bucket 1", 8192);
  recorder.started(1);
  recorder.completed(1);
  const std::vector<Flight> flights = recorder.flights();
  ASSERT_EQ(flights.size(), 2U);
  EXPECT_EQ(flights[0].text.view(), "allreduce of bucket 0");
  EXPECT_EQ(flights[0].bytes, 4096U);
  EXPECT_GT(flights[0].submitted, 1e9);
  EXPECT_LE(flights[0].submitted, flights[0].started);
  EXPECT_LE(flights[0].started, flights[0].completed);
  EXPECT_EQ(flights[1].number, 2U);
  EXPECT_EQ(flights[1].started, 0);
  const FlightMarks marks = recorder.marks();
  EXPECT_EQ(marks.submitted, 2U);
  EXPECT_EQ(marks.started, 1U);
  EXPECT_EQ(marks.completed, 1U);
  EXPECT_EQ(marks.text.view(), "allreduce of bucket 1");
}

TEST(FlightRecorder, KeepsTheLast64InOrder) {
  FlightRecorder recorder;
  for (std::uint64_t number = 1; number <= 100; ++number) recorder.submitted(number, "x", 0);
  recorder.started(20);  // its place is taken
  const std::vector<Flight> flights = recorder.flights();
  ASSERT_EQ(flights.size(), FlightRecorder::kLength);
  for (std::size_t i = 0; i < flights.size(); ++i) {
    EXPECT_EQ(flights[i].number, 37 + i);
    EXPECT_EQ(flights[i].started, 0);
  }
}

TEST(FlightRecorder, CutsLongTexts) {
  FlightRecorder recorder;
  recorder.submitted(1, std::string(1000, 'a'), 0);
  EXPECT_EQ(recorder.flights()[0].text.view(), std::string(192, 'a'));
}

TEST(FlightRecorder, CanBeReadWhileItIsWritten) {
  FlightRecorder recorder;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    while (!over)
      for (const Flight& flight : recorder.flights()) {
        ASSERT_EQ(flight.text.view(), std::to_string(flight.number));
        ASSERT_EQ(flight.bytes, flight.number);
      }
  });
  std::atomic<std::uint64_t> submitted = 0;
  std::thread driver([&] {
    for (std::uint64_t number = 1; number <= 3000; ++number) {
      while (submitted < number) std::this_thread::yield();
      recorder.started(number);
      recorder.completed(number);
    }
  });
  for (std::uint64_t number = 1; number <= 3000; ++number) {
    recorder.submitted(number, std::to_string(number), number);
    submitted = number;
  }
  driver.join();
  over = true;
  reader.join();
  EXPECT_EQ(recorder.marks().completed, 3000U);
}

}  // namespace
}  // namespace trireme
