// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace trireme::simt {

/// Where a kernel is launched, and its name as written there.
struct LaunchSite {
  const char* kernel;
  const char* file;
  int line;
  const void* function = nullptr;  ///< the kernel itself; set by the emulator
};

/// A launch that the runtime or the emulator refused; the message names kernel, place and cause.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(const LaunchSite& site, const std::string& cause)
      : std::runtime_error(std::string(site.file) + ":" + std::to_string(site.line) + ": kernel " +
                           site.kernel + ": " + cause) {}
};

}  // namespace trireme::simt
