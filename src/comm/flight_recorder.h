// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/activity.h"
#include "src/comm/fixed_text.h"

namespace trireme {

/// One collective of a rank, as the flight recorder keeps it. Times are seconds since 1970; 0: not yet.
struct Flight {
  std::uint64_t number = 0;  ///< its ticket, the same on every rank; 0: none
  std::uint64_t bytes = 0;
  double submitted = 0, started = 0, completed = 0;
  FixedText<192> text;  ///< Collective::describe()
};

/// Numbers of the collectives that a rank has come to; 0: none.
struct FlightMarks {
  std::uint64_t submitted = 0, started = 0, completed = 0;
  FixedText<192> text;  ///< of the one submitted last
};

/// The last 64 collectives of this rank in fixed memory. Written by the thread that submits and by the one
/// that drives them; any thread may read at any time. The lock inside is held for copies of a few bytes only.
class FlightRecorder {
 public:
  static constexpr std::size_t kLength = 64;

  void submitted(std::uint64_t number, std::string_view text, std::uint64_t bytes);
  void started(std::uint64_t number);
  void completed(std::uint64_t number);

  /// Oldest first.
  std::vector<Flight> flights() const;
  FlightMarks marks() const;

 private:
  Flight* find(std::uint64_t number);

  mutable std::mutex mutex_;
  std::array<Flight, kLength> flights_;  // number n in place n % kLength
  FlightMarks marks_;
};

}  // namespace trireme
