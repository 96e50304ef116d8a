// SPDX-License-Identifier: Apache-2.0
#include "src/comm/activity.h"

#include <fmt/format.h>

#include <array>

namespace trireme {
namespace {

// By number of Doing.
constexpr std::array<const char*, 9> kTexts{
    "in start-up",
    "waiting for data of step {}",
    "in forward of step {}",
    "in backward of step {}",
    "waiting for the gradients of step {}",
    "evaluating after step {}",
    "saving after step {}",
    "in step {}",
    "ending after step {}",
};

/// Steps count from 1; what happens between two of them comes after the one that is over.
std::int64_t shown(Doing doing, std::int64_t step) {
  const bool between = doing == Doing::evaluating || doing == Doing::saving || doing == Doing::ending;
  return between ? step : step + 1;
}

}  // namespace

std::string text_of(Doing doing, std::int64_t step) {
  const auto index = static_cast<std::size_t>(doing);
  if (index >= kTexts.size()) return "in something unknown";  // a record of another program's version
  return fmt::format(fmt::runtime(kTexts[index]), shown(doing, step));
}

ActivityNow Activity::now() const {
  const std::int64_t packed = packed_.load(std::memory_order_relaxed);
  const std::int64_t layer = layer_.load(std::memory_order_relaxed);
  ActivityNow now{static_cast<Doing>(packed & 0xff), packed >> 8, {}};
  if (layer >= 0 && layer < std::ssize(names_)) now.layer = names_[static_cast<std::size_t>(layer)];
  return now;
}

}  // namespace trireme
