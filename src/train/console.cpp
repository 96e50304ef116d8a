// SPDX-License-Identifier: Apache-2.0
#include "src/train/console.h"

#include <fmt/format.h>

#include <cmath>

namespace trireme {

Console::~Console() {
  if (!progress_stands_) return;
  std::fputc('\n', out_);
  std::fflush(out_);
}

void Console::clear_progress() {
  if (progress_stands_) std::fputs("\r\x1b[K", out_);
  progress_stands_ = false;
}

void Console::line(std::string_view text) {
  clear_progress();
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

void Console::progress(std::string_view text) {
  if (!is_terminal_) return;
  clear_progress();
  fmt::print(out_, "{}", text);
  std::fflush(out_);
  progress_stands_ = true;
}

std::string duration_for_people(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace trireme
