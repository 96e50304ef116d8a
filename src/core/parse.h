// SPDX-License-Identifier: Apache-2.0
// Strict, locale-free reading of numbers: the whole text must be one number in range.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// Decimal integer with optional sign; nothing before or after. No value on anything else or on overflow.
std::optional<std::int64_t> parse_int(std::string_view text);
/// Finite decimal floating-point number ("0.1", "1e-4"); no hex, inf or nan.
std::optional<double> parse_double(std::string_view text);
/// true/false/yes/no/on/off/1/0
std::optional<bool> parse_bool(std::string_view text);
/// Parts between separators; "a,,b" gives an empty middle part, "" gives none.
std::vector<std::string> split(std::string_view text, char separator);
/// The candidate with the smallest edit distance to `word`, if it is at most a third of the word's length
/// (and at least one edit is allowed); empty otherwise.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace trireme
