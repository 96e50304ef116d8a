// SPDX-License-Identifier: Apache-2.0
// Errors: one exception type that carries the exit status, the place and a hint.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace trireme {

/// Exit statuses of every program of this project (sysexits where one fits).
enum class Status : int {
  ok = 0,
  usage = 64,          ///< the command line is wrong
  bad_data = 65,       ///< a file is there but its content is not usable
  input_missing = 66,  ///< a file that must be read does not exist or is not readable
  peer_gone = 69,      ///< another rank, a device or the network is gone or too late
  internal = 70,       ///< a fault of this program
  cannot_create = 73,  ///< an output exists already or cannot be made
  io_error = 74,       ///< reading or writing failed half-way (disk full, quota, device error)
  configuration = 78,  ///< the settings do not fit each other or this machine
  stopped = 143,       ///< ended by a signal or the time limit, the state is saved
};

/// What ends a run. `what()` is the whole message: "what failed: where (hint)". Only `main` catches it,
/// prints it once and returns `status()`.
class Error : public std::exception {
 public:
  Error(Status status, std::string message) : status_(status), message_(std::move(message)) { compose(); }

  /// Adds the place (file, sample, rank, host, setting); several calls add from the inside out.
  Error&& at(std::string_view place) && {
    place_ += place_.empty() ? std::string(place) : fmt::format(", {}", place);
    compose();
    return std::move(*this);
  }
  /// Adds what the user can do about it. One sentence, no full stop.
  Error&& hint(std::string_view text) && {
    hint_ = text;
    compose();
    return std::move(*this);
  }

  /// Another rank has met it first and tells it, so this one need not.
  Error&& met_elsewhere() && {
    is_met_elsewhere_ = true;
    return std::move(*this);
  }

  bool is_met_elsewhere() const { return is_met_elsewhere_; }
  Status status() const { return status_; }
  const char* what() const noexcept override { return whole_.c_str(); }

 private:
  void compose();

  Status status_;
  std::string message_, place_, hint_, whole_;
  bool is_met_elsewhere_ = false;
};

/// An Error whose message is built with fmt.
template <typename... Args>
Error make_error(Status status, fmt::format_string<Args...> format, Args&&... args) {
  return Error(status, fmt::format(format, std::forward<Args>(args)...));
}

namespace detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line, std::string_view why);
}  // namespace detail

}  // namespace trireme

/// Programmer errors only (a broken contract between two pieces of this program); throws status 70. Input is
/// validated with Error. Always on: the checks that use it are outside inner loops.
#define TRIREME_ASSERT(expression, why)                                            \
  do {                                                                             \
    if (!(expression)) [[unlikely]]                                                \
      ::trireme::detail::assertion_failed(#expression, __FILE__, __LINE__, (why)); \
  } while (false)
