// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them, independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

/// The text with its control characters as \xNN, so that names from files cannot steer a terminal.
std::string printable(std::string_view text);
/// The same, line ends kept.
std::string printable_lines(std::string_view text);
/// "50,000"
std::string count_text(std::int64_t count);
/// "146.5 MiB"; whole bytes below 1 KiB
std::string bytes_text(std::uint64_t bytes);
/// "1 class", "10 classes": `many` for every count but 1
std::string counted(std::int64_t count, const char* one, const char* many);

}  // namespace trireme
