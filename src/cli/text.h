// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace trireme {

/// "50,000"
std::string count_text(std::int64_t count);
/// "146.5 MiB"; whole bytes below 1 KiB
std::string bytes_text(std::uint64_t bytes);
/// "1 class", "10 classes": `many` for every count but 1
std::string counted(std::int64_t count, const char* one, const char* many);

}  // namespace trireme
