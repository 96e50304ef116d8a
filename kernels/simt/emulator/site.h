// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trireme::simt::emulator {

/// A place in a kernel's source. As a defaulted last parameter, `Site site = Site::here()`, it is the
/// caller's.
struct Site {
  const char* file;
  int line;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace trireme::simt::emulator
