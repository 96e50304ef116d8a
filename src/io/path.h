// SPDX-License-Identifier: Apache-2.0
// Questions about paths that never throw: what cannot be looked at (a name that is too long, no permission)
// is not there.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace trireme {

inline bool path_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

inline bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

inline bool is_plain_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace trireme
