// SPDX-License-Identifier: Apache-2.0
#include "src/train/interval.h"

#include <cmath>

#include "src/core/parse.h"
#include "src/train/setting_value.h"

namespace trireme {

namespace {

struct Quantity {
  double count;
  std::string_view unit;
};

// "1.5h" is 1.5 and "h". The unit is what follows the last digit or point, so that an exponent stays a
// number.
Quantity split_quantity(std::string_view text, std::string_view examples) {
  const std::size_t end = text.find_last_of("0123456789.") + 1;
  const std::optional<double> count = parse_double(text.substr(0, end));
  if (!count) throw bad_value("'{}' is not {}", text, examples);
  if (*count <= 0) throw bad_value("'{}' is not above 0", text);
  return {*count, text.substr(end)};
}

constexpr std::string_view kIntervalExamples = "an interval such as 500steps, 1epoch, 15min or never";
constexpr std::string_view kDurationExamples = "a time such as 600, 90s, 10min or 2h";

struct IntervalUnit {
  std::string_view word;
  Interval::Unit unit;
};
constexpr IntervalUnit kIntervalUnits[] = {{"steps", Interval::Unit::steps},
                                           {"step", Interval::Unit::steps},
                                           {"epochs", Interval::Unit::epochs},
                                           {"epoch", Interval::Unit::epochs},
                                           {"min", Interval::Unit::minutes}};

struct TimeUnit {
  std::string_view word;
  double seconds;
};
constexpr TimeUnit kTimeUnits[] = {{"h", 3600}, {"min", 60}, {"s", 1}, {"", 1}};

}  // namespace

Interval parse_interval(std::string_view text) {
  if (text == "never") return {};
  const Quantity quantity = split_quantity(text, kIntervalExamples);
  for (const IntervalUnit& known : kIntervalUnits) {
    if (known.word != quantity.unit) continue;
    if (known.unit != Interval::Unit::minutes && quantity.count != std::floor(quantity.count))
      throw bad_value("'{}' is not a whole number of {}", text, known.word);
    return {known.unit, quantity.count};
  }
  throw bad_value("'{}' is not {}", text, kIntervalExamples);
}

std::string interval_text(const Interval& interval) {
  for (const IntervalUnit& known : kIntervalUnits) {
    const bool plural = known.word.ends_with('s');
    if (known.unit != interval.unit || (plural && interval.count == 1)) continue;
    return fmt::format("{}{}", interval.count, known.word);
  }
  return "never";
}

double parse_duration(std::string_view text) {
  const Quantity quantity = split_quantity(text, kDurationExamples);
  for (const TimeUnit& known : kTimeUnits)
    if (known.word == quantity.unit) return quantity.count * known.seconds;
  throw bad_value("'{}' is not {}", text, kDurationExamples);
}

std::string duration_text(double seconds) {
  for (const TimeUnit& known : kTimeUnits)
    if (std::fmod(seconds, known.seconds) == 0)
      return fmt::format("{}{}", seconds / known.seconds, known.word);
  return fmt::format("{}s", seconds);
}

}  // namespace trireme
