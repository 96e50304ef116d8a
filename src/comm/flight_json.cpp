// SPDX-License-Identifier: Apache-2.0
#include "src/comm/flight_json.h"

#include <fmt/format.h>

#include <chrono>

namespace trireme {
namespace {

/// In quotes. Bytes above ASCII pass: names are UTF-8, save where a fixed text was cut inside a character.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string time_or_null(double seconds) {
  return seconds > 0 ? fmt::format("{:.6f}", seconds) : "null";
}

const char* state_of(const Flight& flight) {
  if (flight.completed > 0) return "completed";
  return flight.started > 0 ? "started" : "submitted";
}

std::string json_of(const Flight& flight) {
  return fmt::format(
      R"({{"number": {}, "what": {}, "bytes": {}, "state": "{}", "submitted": {}, "started": {}, "completed": {}}})",
      flight.number, quoted(flight.text.view()), flight.bytes, state_of(flight),
      time_or_null(flight.submitted), time_or_null(flight.started), time_or_null(flight.completed));
}

std::string json_of(const PeerNews& news) {
  const std::string head = fmt::format(R"({{"rank": {}, "host": {}, "seconds_since_news": {:.3f})", news.rank,
                                       quoted(news.host), news.age_seconds);
  if (!news.last) return head + "}";
  const ProgressRecord& last = *news.last;
  return fmt::format(
      R"({}, "doing": {}, "layer": {}, "submitted": {}, "started": {}, "completed": {}, "what": {}}})", head,
      quoted(text_of(last.doing, last.step)), quoted(last.layer.view()), last.marks.submitted,
      last.marks.started, last.marks.completed, quoted(last.marks.text.view()));
}

template <typename Items>
std::string list_of(const Items& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("{}\n    {}", text.empty() ? "" : ",", json_of(item));
  return "[" + text + "\n  ]";
}

}  // namespace

std::string flight_json(const FlightRecorder& recorder, const Activity& activity, const ProgressBoard* board,
                        std::string_view reason) {
  const ActivityNow now = activity.now();
  const double time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const int rank = board == nullptr ? 0 : board->rank();
  return fmt::format(
      "{{\n  \"version\": 1, \"rank\": {}, \"ranks\": {}, \"host\": {}, \"time\": {:.6f},\n  \"reason\": "
      "{},\n"
      "  \"doing\": {}, \"layer\": {},\n  \"collectives\": {},\n  \"peers\": {}\n}}\n",
      rank, board == nullptr ? 1 : board->size(), quoted(board == nullptr ? "" : board->host(rank)), time,
      quoted(reason), quoted(text_of(now.doing, now.step)), quoted(now.layer), list_of(recorder.flights()),
      list_of(board == nullptr ? std::vector<PeerNews>{} : board->news()));
}

}  // namespace trireme
