// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_tuning.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr const char *kSegment = "segment_bytes", *kSmall = "small_bytes", *kLatency = "latency_seconds",
                     *kBandwidth = "bytes_per_second";
constexpr std::int64_t kLongestPiece = std::int64_t{1} << 30;

Error not_a_tuning(std::string_view text) {
  return make_error(Status::bad_data, "not the choices of the exchange's algorithms: '{}'",
                    text.substr(0, 200));
}

}  // namespace

std::string tuning_text(const CommTuning& tuning) {
  return nlohmann::ordered_json{{kSegment, tuning.segment_bytes},
                                {kSmall, tuning.small_bytes},
                                {kLatency, tuning.latency_seconds},
                                {kBandwidth, tuning.bytes_per_second}}
      .dump();
}

CommTuning parse_tuning(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.size() != 4) throw not_a_tuning(text);
  const auto integer = [&](const char* name, std::int64_t least) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) throw not_a_tuning(text);
    const auto value = found->get<std::int64_t>();
    if (value < least || value > kLongestPiece) throw not_a_tuning(text);
    return value;
  };
  const auto number = [&](const char* name) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number() || found->get<double>() < 0) throw not_a_tuning(text);
    return found->get<double>();
  };
  return {integer(kSegment, 1), integer(kSmall, 0), number(kLatency), number(kBandwidth)};
}

}  // namespace trireme
