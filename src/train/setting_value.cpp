// SPDX-License-Identifier: Apache-2.0
#include "src/train/setting_value.h"

#include <algorithm>

#include "src/core/parse.h"

namespace trireme {

namespace {

bool is_word(std::string_view text, std::string_view word) {
  return !word.empty() && text == word;
}

// Digits only, which can only be wrong by their number.
bool is_long_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <typename T>
std::string range_text(T least, T most, bool open) {
  const bool bounded = most < std::numeric_limits<T>::max();
  if (open)
    return bounded ? fmt::format("above {} and below {}", least, most) : fmt::format("above {}", least);
  return bounded ? fmt::format("from {} to {}", least, most) : fmt::format("at least {}", least);
}

}  // namespace

std::int64_t Integer::read(std::string_view text) const {
  if (is_word(text, zero_word)) return 0;
  const std::optional<std::int64_t> value = parse_int(text);
  if (!value && is_long_number(text))
    throw bad_value("'{}' is out of range: from {} to {}", text, least, most);
  if (!value) throw bad_value("'{}' is not a whole number", text);
  if (*value == 0 && !zero_word.empty()) return 0;
  if (*value < least || *value > most)
    throw bad_value("'{}' must be {}", text, range_text(least, most, false));
  return *value;
}

std::string Integer::write(std::int64_t value) const {
  return value == 0 && !zero_word.empty() ? zero_word : fmt::format("{}", value);
}

double Number::read(std::string_view text) const {
  if (is_word(text, zero_word)) return 0;
  const std::optional<double> value = parse_double(text);
  if (!value) throw bad_value("'{}' is not a number", text);
  if (*value == 0 && !zero_word.empty()) return 0;
  const bool inside = open ? *value > least && *value < most : *value >= least && *value <= most;
  if (!inside) throw bad_value("'{}' must be {}", text, range_text(least, most, open));
  return *value;
}

std::string Number::write(double value) const {
  return value == 0 && !zero_word.empty() ? zero_word : fmt::format("{}", value);
}

std::vector<double> Numbers::read(std::string_view text) const {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    const std::optional<double> value = parse_double(part);
    if (!value) throw bad_value("'{}' is not a list of numbers such as 30,60,80", text);
    if (*value <= (values.empty() ? 0 : values.back()))
      throw bad_value("'{}' must be above 0 and rise", text);
    values.push_back(*value);
  }
  return values;
}

std::string Numbers::write(const std::vector<double>& value) const {
  return fmt::format("{}", fmt::join(value, ","));
}

bool Switch::read(std::string_view text) const {
  const std::optional<bool> value = parse_bool(text);
  if (!value) throw bad_value("'{}' is neither true nor false", text);
  return *value;
}

std::string Choice::value_name() const {
  return name.empty() ? fmt::format("{}", fmt::join(words, "|")) : name;
}

std::string Choice::read(std::string_view text) const {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return *found;
  const std::string nearest = nearest_name(text, words);
  Error error = bad_value("'{}' is none of {}", text, fmt::join(words, ", "));
  if (nearest.empty()) throw error;
  throw std::move(error).hint(fmt::format("did you mean {}?", nearest));
}

std::string Text::read(std::string_view text) const {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) throw bad_value("control characters cannot be kept");
  if (text.starts_with(' ') || text.ends_with(' ')) throw bad_value("'{}' begins or ends with a space", text);
  if (check != nullptr) check(text);
  return std::string(text);
}

double Duration::read(std::string_view text) const {
  if (is_word(text, zero_word) || (text == "0" && !zero_word.empty())) return 0;
  return parse_duration(text);
}

std::string Duration::write(double value) const {
  return value == 0 && !zero_word.empty() ? zero_word : duration_text(value);
}

}  // namespace trireme
