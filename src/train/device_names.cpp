// SPDX-License-Identifier: Apache-2.0
#include "src/train/device_names.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "src/core/parse.h"

namespace trireme {
namespace {

constexpr std::string_view kAuto = "auto";

constexpr std::array<std::pair<std::string_view, Precision>, 4> kPrecisions{{{"fp32", Precision::fp32},
                                                                             {"tf32", Precision::tf32},
                                                                             {"bf16", Precision::bf16},
                                                                             {"fp16", Precision::fp16}}};
constexpr std::array<std::pair<std::string_view, Engine>, 3> kEngines{
    {{"native", Engine::native}, {"cudnn", Engine::cudnn}, {kAuto, Engine::automatic}}};

template <typename Names>
Choice choice_of(Choice choice, const Names& names) {
  for (const auto& [name, value] : names) choice.words.emplace_back(name);
  return choice;
}

template <typename Names>
auto value_of(const Names& names, std::string_view name) {
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == name; });
  TRIREME_ASSERT(found != names.end(), "the table of settings checks names");
  return found->second;
}

}  // namespace

WantedDevice parse_device_name(std::string_view name) {
  constexpr std::string_view kCuda = "cuda", kIndexed = "cuda:";
  if (name == kAuto) return {};
  if (name == "cpu") return {DeviceKind::cpu, {}};
  if (name == kCuda) return {DeviceKind::cuda, {}};
  const std::optional<std::int64_t> index =
      name.starts_with(kIndexed) ? parse_int(name.substr(kIndexed.size())) : std::nullopt;
  if (!index || *index < 0 || *index > std::numeric_limits<int>::max())
    throw bad_value("'{}' is none of auto, cpu, cuda and cuda:N", name);
  return {DeviceKind::cuda, static_cast<int>(*index)};
}

void check_device_name(std::string_view name) {
  parse_device_name(name);
}

Choice precision_choice() {
  return choice_of({{std::string(kAuto)}}, kPrecisions);
}

std::optional<Precision> parse_precision(std::string_view name) {
  if (name == kAuto) return std::nullopt;
  return value_of(kPrecisions, name);
}

std::string_view precision_name(Precision precision) {
  return std::find_if(kPrecisions.begin(), kPrecisions.end(),
                      [&](const auto& row) { return row.second == precision; })
      ->first;
}

Choice engine_choice() {
  return choice_of({}, kEngines);
}

Engine parse_engine(std::string_view name) {
  return value_of(kEngines, name);
}

}  // namespace trireme
