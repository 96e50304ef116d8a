// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// True if all of `text` is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view text);
/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace trireme
