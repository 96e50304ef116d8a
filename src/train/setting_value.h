// SPDX-License-Identifier: Apache-2.0
// Kinds of values that settings have: each reads text strictly and writes text that it reads back to the same
// value. `read` throws an Error whose message says what is wrong with the text ("'abc' is not a number"); the
// caller adds the setting's name and decides the status.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/core/error.h"
#include "src/train/interval.h"

namespace trireme {

/// The Error that `read` throws.
template <typename... Args>
Error bad_value(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Status::configuration, fmt::format(format, std::forward<Args>(args)...));
}

/// Whole number from `least` to `most`. `zero_word` is another way to write 0, even if `least` is above 0.
struct Integer {
  using Value = std::int64_t;
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
  std::string zero_word = {};
  std::string value_name() const { return "N"; }
  Value read(std::string_view text) const;
  std::string write(Value value) const;
};

/// Number from `least` to `most`, or strictly between them where `open`; `zero_word` as for Integer.
struct Number {
  using Value = double;
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool open = false;
  std::string zero_word = {};
  std::string value_name() const { return "X"; }
  Value read(std::string_view text) const;
  std::string write(Value value) const;
};

/// Ascending positive numbers, comma-separated; may be empty.
struct Numbers {
  using Value = std::vector<double>;
  std::string value_name() const { return "X,X"; }
  Value read(std::string_view text) const;
  std::string write(const Value& value) const;
};

struct Switch {
  using Value = bool;
  std::string value_name() const { return ""; }
  Value read(std::string_view text) const;
  std::string write(Value value) const { return value ? "true" : "false"; }
};

/// One of a few words.
struct Choice {
  using Value = std::string;
  std::vector<std::string> words;
  std::string name = {};  ///< for the help, where the words would be too many
  std::string value_name() const;
  Value read(std::string_view text) const;
  std::string write(const Value& value) const { return value; }
};

/// One of a few words that stand for values of an enumeration.
template <typename Enum>
struct EnumChoice {
  using Value = Enum;
  std::vector<std::pair<std::string, Enum>> names;
  Choice words() const {
    Choice choice;
    for (const auto& [word, value] : names) choice.words.push_back(word);
    return choice;
  }
  std::string value_name() const { return words().value_name(); }
  Value read(std::string_view text) const {
    const std::string word = words().read(text);
    for (const auto& [name, value] : names)
      if (name == word) return value;
    throw bad_value("'{}' is unknown", text);
  }
  std::string write(Value wanted) const {
    for (const auto& [name, value] : names)
      if (value == wanted) return name;
    return "";
  }
};

/// Any text of one line that an ini file can hold, checked further by `check` where there is one.
struct Text {
  using Value = std::string;
  std::string name = "TEXT";
  void (*check)(std::string_view text) = nullptr;
  std::string value_name() const { return name; }
  Value read(std::string_view text) const;
  std::string write(const Value& value) const { return value; }
};

/// "500steps", "1epoch", "15min" or "never".
struct When {
  using Value = Interval;
  std::string value_name() const { return "WHEN"; }
  Value read(std::string_view text) const { return parse_interval(text); }
  std::string write(const Value& value) const { return interval_text(value); }
};

/// Seconds above 0, written as 600, 90s, 10min or 2h; `zero_word` as for Integer.
struct Duration {
  using Value = double;
  std::string zero_word = {};
  std::string value_name() const { return "TIME"; }
  Value read(std::string_view text) const;
  std::string write(Value value) const;
};

/// The value in the type of its field; an Error if it does not fit.
template <typename Field, typename Value>
Field narrow_value(Value value, std::string_view text) {
  if constexpr (std::is_integral_v<Field> && std::is_same_v<Value, std::int64_t>) {
    if (!std::in_range<Field>(value)) throw bad_value("'{}' is out of range", text);
    return static_cast<Field>(value);
  } else {
    return value;
  }
}

}  // namespace trireme
