// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/settings.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trireme::simt::emulator {
namespace {

[[noreturn]] void refuse(const char* name, std::string_view value, const char* known) {
  throw std::invalid_argument(std::string(name) + "=" + std::string(value) + ": must be " + known);
}

std::uint64_t number(const char* name, std::string_view value, std::string_view digits, const char* known) {
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse(name, value, known);
  return result;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is made
  return value == nullptr ? "" : value;
}

void read_order(Settings& settings) {
  constexpr const char* kKnown = "forward, reverse or seed:N";
  const std::string_view value = environment("SIMT_ORDER");
  if (value.starts_with("seed:")) {
    settings.order = Order::seeded;
    settings.seed = number("SIMT_ORDER", value, value.substr(5), kKnown);
  } else if (value == "reverse") {
    settings.order = Order::reverse;
  } else if (!value.empty() && value != "forward") {
    refuse("SIMT_ORDER", value, kKnown);
  }
}

void read_streams(Settings& settings) {
  constexpr const char* kKnown = "eager, lazy or lazy:N";
  const std::string_view value = environment("SIMT_STREAMS");
  settings.lazy_streams = value.starts_with("lazy");
  if (value.starts_with("lazy:"))
    settings.stream_seed = number("SIMT_STREAMS", value, value.substr(5), kKnown);
  else if (!value.empty() && value != "lazy" && value != "eager")
    refuse("SIMT_STREAMS", value, kKnown);
}

bool read_switch(const char* name, bool otherwise) {
  const std::string_view value = environment(name);
  if (value.empty()) return otherwise;
  if (value != "0" && value != "1") refuse(name, value, "0 or 1");
  return value == "1";
}

void read_devices(Settings& settings) {
  constexpr const char* kKnown = "a number from 0 to 16";
  const std::string_view value = environment("SIMT_DEVICES");
  if (value.empty()) return;
  const std::uint64_t devices = number("SIMT_DEVICES", value, value, kKnown);
  if (devices > 16) refuse("SIMT_DEVICES", value, kKnown);
  settings.devices = static_cast<int>(devices);
  settings.shared_devices = true;
}

void read_memory(Settings& settings) {
  constexpr const char* kKnown = "bytes, or a number with K, M or G";
  constexpr std::string_view kUnits = "KMG";
  const std::string_view value = environment("SIMT_MEMORY");
  if (value.empty()) return;
  const std::size_t unit = kUnits.find(value.back());
  const bool has_unit = unit != std::string_view::npos;
  const std::uint64_t count =
      number("SIMT_MEMORY", value, value.substr(0, value.size() - (has_unit ? 1 : 0)), kKnown);
  if (count > std::uint64_t{1} << 33) refuse("SIMT_MEMORY", value, kKnown);
  settings.memory_bytes = count << (has_unit ? 10 * (unit + 1) : 0);
}

Settings from_environment() {
  Settings settings;
  read_order(settings);
  read_streams(settings);
  settings.checking = read_switch("SIMT_CHECK", true);
  settings.counting = read_switch("SIMT_COUNT", false);
  settings.strict_events = read_switch("SIMT_STRICT_EVENTS", false);
  settings.strict_buffers = read_switch("SIMT_STRICT_BUFFERS", false);
  read_devices(settings);
  read_memory(settings);
  if (const std::string_view value = environment("SIMT_PEER_TIMEOUT"); !value.empty()) {
    constexpr const char* kSeconds = "seconds, at most 86400";
    const std::uint64_t seconds = number("SIMT_PEER_TIMEOUT", value, value, kSeconds);
    if (seconds > 86400) refuse("SIMT_PEER_TIMEOUT", value, kSeconds);
    settings.peer_timeout_seconds = static_cast<int>(seconds);
  }
  constexpr const char* kKnown = "a number from 1 to 64";
  if (const std::string_view value = environment("SIMT_THREADS"); !value.empty()) {
    const std::uint64_t threads = number("SIMT_THREADS", value, value, kKnown);
    if (threads < 1 || threads > 64) refuse("SIMT_THREADS", value, kKnown);
    settings.threads = static_cast<int>(threads);
  }
  return settings;
}

}  // namespace

Settings& settings() {
  static Settings settings = from_environment();
  return settings;
}

}  // namespace trireme::simt::emulator
