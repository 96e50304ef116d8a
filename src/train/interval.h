// SPDX-License-Identifier: Apache-2.0
// How often something is done, and how long something may take, as people write it.
#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// "500steps", "1epoch", "15min" or "never".
struct Interval {
  enum class Unit { never, steps, epochs, minutes };
  Unit unit = Unit::never;
  double count = 0;  ///< above 0; whole for steps and epochs
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Reads an interval; throws the Error of setting_value.h if the text is none.
Interval parse_interval(std::string_view text);
/// Text that parse_interval reads back to the same value.
std::string interval_text(const Interval& interval);

/// Seconds of "600", "90s", "10min" or "2h"; throws the Error of setting_value.h if the text is no time above
/// 0.
double parse_duration(std::string_view text);
/// Text that parse_duration reads back to the same value, in the largest unit that divides it.
std::string duration_text(double seconds);

}  // namespace trireme
