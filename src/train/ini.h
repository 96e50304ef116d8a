// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme {

struct IniEntry {
  std::string key, value;
  std::string place;  ///< "run.ini:3"
};

/// Reads "key = value" lines. Empty lines, whole-line comments (# or ;) and [section] headings are skipped,
/// as is a byte order mark; the value is the rest of the line. Status 78 with file and line for anything else
/// and for a key that stands twice.
std::vector<IniEntry> read_ini(std::string_view text, std::string_view file_name);

}  // namespace trireme
