// SPDX-License-Identifier: Apache-2.0
#include "src/comm/stall_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace trireme {
namespace {

// Records come several times a second, of thousands of ranks less often: a rank that has left out some of
// them does not run.
double silence_seconds(int ranks) {
  return std::max(4.0, ranks / 250.0);
}

constexpr std::size_t kMostRanks = 8;

bool is_late(const PeerNews& news, std::uint64_t number) {
  return !news.last || news.last->marks.submitted < number;
}

bool is_silent(const PeerNews& news, int ranks) {
  return news.age_seconds > silence_seconds(ranks) && !(news.last && news.last->leaves);
}

std::string what_it_did(const ProgressRecord& record) {
  std::string text = text_of(record.doing, record.step);
  if (record.leaves) text += ", at its end";
  if (!record.layer.view().empty()) text += fmt::format(", after {}", record.layer.view());
  if (record.marks.submitted > 0)
    text += fmt::format("; its last collective was {}", record.marks.text.view());
  return text;
}

std::string line_of(const PeerNews& news, int ranks) {
  const char* verdict = is_silent(news, ranks) ? "is silent (stopped, or cut off)" : "is late";
  if (!news.last)
    return fmt::format("\n  rank {} on {} {}: nothing was heard of it in {:.0f} s", news.rank, news.host,
                       verdict, news.age_seconds);
  return fmt::format("\n  rank {} on {} {}: last heard of {:.1f} s ago, {}", news.rank, news.host, verdict,
                     news.age_seconds, what_it_did(*news.last));
}

std::uint64_t submitted_by(const PeerNews& news) {
  return news.last ? news.last->marks.submitted : 0;
}

}  // namespace

std::string late_ranks_text(const ProgressBoard& board, std::uint64_t number, ProgressBoard::Time now) {
  std::vector<PeerNews> guilty;
  for (const PeerNews& news : board.news(now))
    if (is_late(news, number) || is_silent(news, board.size())) guilty.push_back(news);
  if (guilty.empty())
    return board.collects()
               ? "\n  all other ranks have come to it, and run: the network between them is suspect"
               : "";
  std::stable_sort(guilty.begin(), guilty.end(),
                   [](const PeerNews& a, const PeerNews& b) { return submitted_by(a) < submitted_by(b); });
  std::string text;
  for (std::size_t i = 0; i < std::min(guilty.size(), kMostRanks); ++i)
    text += line_of(guilty[i], board.size());
  if (guilty.size() > kMostRanks)
    text += fmt::format("\n  and {} more of {} ranks", guilty.size() - kMostRanks, board.size());
  return text;
}

}  // namespace trireme
