// SPDX-License-Identifier: Apache-2.0
#include "src/comm/flight_recorder.h"

#include <algorithm>
#include <chrono>

namespace trireme {
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

/// Null where newer ones have taken the place.
Flight* FlightRecorder::find(std::uint64_t number) {
  Flight& flight = flights_[number % kLength];
  return flight.number == number ? &flight : nullptr;
}

void FlightRecorder::submitted(std::uint64_t number, std::string_view text, std::uint64_t bytes) {
  const double now = seconds_since_1970();
  const std::lock_guard lock(mutex_);
  Flight& flight = flights_[number % kLength];
  flight = {number, bytes, now, 0, 0, text};
  marks_.submitted = number;
  marks_.text = flight.text;
}

void FlightRecorder::started(std::uint64_t number) {
  const double now = seconds_since_1970();
  const std::lock_guard lock(mutex_);
  marks_.started = number;
  if (Flight* flight = find(number)) flight->started = now;
}

void FlightRecorder::completed(std::uint64_t number) {
  const double now = seconds_since_1970();
  const std::lock_guard lock(mutex_);
  marks_.completed = number;
  if (Flight* flight = find(number)) flight->completed = now;
}

std::vector<Flight> FlightRecorder::flights() const {
  std::vector<Flight> found;
  found.reserve(kLength);
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(flights_.begin(), flights_.end(), std::back_inserter(found),
                 [](const Flight& flight) { return flight.number != 0; });
  }
  std::sort(found.begin(), found.end(), [](const Flight& a, const Flight& b) { return a.number < b.number; });
  return found;
}

FlightMarks FlightRecorder::marks() const {
  const std::lock_guard lock(mutex_);
  return marks_;
}

}  // namespace trireme
