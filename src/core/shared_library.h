// SPDX-License-Identifier: Apache-2.0
// Libraries that a program opens when it wants them and is never linked with.
#pragma once

#include <string>

namespace trireme {

/// An open library, or why it could not be opened. It stays open until the process ends: its threads and
/// allocations may outlive whoever opened it. Takes functions by name and remembers the first that is
/// missing.
class SharedLibrary {
 public:
  /// By dlopen, which also looks into LD_LIBRARY_PATH.
  explicit SharedLibrary(const char* name);

  bool is_open() const { return handle_ != nullptr; }
  const std::string& reason() const { return reason_; }    ///< in the loader's words, if it is not open
  const std::string& missing() const { return missing_; }  ///< the first function of take() that it lacks

  template <typename Function>
  void take(Function& function, const char* name) {
    take_optional(function, name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  /// Null where the library has none.
  template <typename Function>
  void take_optional(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find(name));
  }

 private:
  void* find(const char* name) const;

  void* handle_;
  std::string reason_, missing_;
};

}  // namespace trireme
