// SPDX-License-Identifier: Apache-2.0
#include "src/train/ini.h"

#include <algorithm>

#include "src/core/error.h"
#include "src/core/parse.h"

namespace trireme {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

bool is_decoration(std::string_view line) {
  return line.empty() || line.front() == '#' || line.front() == ';' ||
         (line.front() == '[' && line.back() == ']');
}

}  // namespace

std::vector<IniEntry> read_ini(std::string_view text, std::string_view file_name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // some editors begin UTF-8 with it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<IniEntry> entries;
  int number = 0;
  for (const std::string& raw_line : split(text, '\n')) {
    const std::string place = fmt::format("{}:{}", file_name, ++number);
    const std::string_view line = trimmed(raw_line);
    if (is_decoration(line)) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw make_error(Status::configuration, "{}: '{}' is not name = value", place, line);
    const std::string_view key = trimmed(line.substr(0, equals));
    for (const IniEntry& earlier : entries)
      if (earlier.key == key)
        throw make_error(Status::configuration, "{}: {} is set twice", place, key)
            .hint(fmt::format("it stands first at {}", earlier.place));
    entries.push_back({std::string(key), std::string(trimmed(line.substr(equals + 1))), place});
  }
  return entries;
}

}  // namespace trireme
