// SPDX-License-Identifier: Apache-2.0
#include "data/utf8.h"

#include <cstddef>

namespace trireme {
namespace {

// Table 3-7 of the Unicode standard: the range of the second byte depends on the first, later ones
// are 80..BF.
struct Sequence {
  unsigned char first_low, first_high, second_low, second_high;
  std::size_t length;
};
constexpr Sequence kSequences[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

bool within(char byte, unsigned char low, unsigned char high) {
  const auto value = static_cast<unsigned char>(byte);
  return low <= value && value <= high;
}

// Length of the well-formed sequence at the beginning of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  for (const Sequence& s : kSequences) {
    if (!within(text[0], s.first_low, s.first_high)) continue;
    if (text.size() < s.length) return 0;
    if (s.length > 1 && !within(text[1], s.second_low, s.second_high)) return 0;
    for (std::size_t i = 2; i < s.length; ++i)
      if (!within(text[i], 0x80, 0xbf)) return 0;
    return s.length;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    result += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace trireme
