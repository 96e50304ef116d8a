// SPDX-License-Identifier: Apache-2.0
// How faults of a kernel are told.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

#include "kernels/simt/emulator/worker.h"

namespace trireme::simt::emulator {
namespace {

std::string text_of(uint3 index) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "(%u,%u,%u)", index.x, index.y, index.z);
  return text.data();
}

}  // namespace

void fail(Site site, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Worker::current().fail(site, format, arguments);
}

// On a fiber: no allocation that would leak with it.
void Worker::fail(Site site, const char* format, std::va_list arguments) {
  const auto [x, y, z] = std::tuple(static_cast<unsigned>(running_) % shape_.block.x,
                                    static_cast<unsigned>(running_) / shape_.block.x % shape_.block.y,
                                    static_cast<unsigned>(running_) / (shape_.block.x * shape_.block.y));
  int used = std::snprintf(error_.data(), error_.size(), "block (%u,%u,%u) thread (%u,%u,%u)%s%s", block_.x,
                           block_.y, block_.z, x, y, z, site.line > 0 ? " at " : "", site.file);
  if (site.line > 0)
    used += std::snprintf(error_.data() + used, error_.size() - static_cast<std::size_t>(used),
                          ":%d: ", site.line);
  else
    used += std::snprintf(error_.data() + used, error_.size() - static_cast<std::size_t>(used), " ");
  std::vsnprintf(error_.data() + used, error_.size() - static_cast<std::size_t>(used), format, arguments);
  switch_to(-1);
  __builtin_unreachable();
}

std::string Worker::place_of(int thread) const {
  const std::size_t warp = static_cast<std::size_t>(thread) / 32;
  const std::uint32_t own = 1U << (thread % 32);
  const Site site = waiting_at_[static_cast<std::size_t>(thread)];
  const std::string place = std::string(" at ") + site.file + ":" + std::to_string(site.line);
  for (std::size_t id = 0; id < barriers_.size(); ++id)
    if ((barriers_[id].waiting[warp] & own) != 0)
      return (id == 0 ? "in __syncthreads" : "in barrier " + std::to_string(id)) + place;
  for (int i = 0; i < warps_[warp].pending_count; ++i) {
    const PendingCollective& pending = warps_[warp].pending[static_cast<std::size_t>(i)];
    if ((pending.arrived & own) == 0) continue;
    std::array<char, 16> mask{};
    std::snprintf(mask.data(), mask.size(), "0x%08x", pending.mask);
    return std::string("in ") + pending.name + " with mask " + mask.data() + place;
  }
  return "exited";
}

/// "deadlock: 40 threads in __syncthreads at k.cu:14 (first: 0), 24 threads in ... "
std::string Worker::deadlock() const {
  std::map<std::string, std::pair<int, int>> places;  // place: threads there, the first of them
  for (int thread = threads_ - 1; thread >= 0; --thread) {
    auto& [count, first] = places[place_of(thread)];
    ++count;
    first = thread;
  }
  std::string text = "block " + text_of(block_) + ": deadlock: ";
  const char* separator = "";
  for (const auto& [place, who] : places) {
    text += separator;
    text += std::to_string(who.first) + (who.first == 1 ? " thread " : " threads ") + place +
            " (the first is " + std::to_string(who.second) + ")";
    separator = ", ";
  }
  return text;
}

}  // namespace trireme::simt::emulator
