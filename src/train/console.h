// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace trireme {

/// What a run says on standard output. On a terminal a progress line is drawn over itself; in a file or pipe
/// everything is plain lines without control characters.
class Console {
 public:
  Console(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}
  /// Ends a progress line that is still standing.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool is_terminal() const { return is_terminal_; }
  /// A line that stays.
  void line(std::string_view text);
  /// Replaces the progress line; on terminals only.
  void progress(std::string_view text);

 private:
  void clear_progress();

  std::FILE* out_;
  bool is_terminal_, progress_stands_ = false;
};

/// "42 s", "12 min 05 s", "3 h 07 min"
std::string duration_for_people(double seconds);

}  // namespace trireme
