// SPDX-License-Identifier: Apache-2.0
#include "src/comm/stall_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "src/comm/flight_json.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const ProgressBoard::Time kStart = Deadline::Clock::now();

ProgressRecord record_of(std::uint64_t submitted, const char* text, Doing doing = Doing::backward,
                         std::int64_t step = 40, const char* layer = "layer2.0.conv1.weight") {
  ProgressRecord record;
  record.marks = {submitted, submitted, submitted - 1, std::string_view(text)};
  record.doing = doing;
  record.step = step;
  record.layer = layer;
  return record;
}

ProgressBoard board_of(int ranks, bool collects = true) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(fmt::format("node{}", rank));
  return ProgressBoard(0, hosts, collects, kStart);
}

TEST(StallReport, NamesTheLateRankItsHostWhatItDidAndHowOldThatNewsIs) {
  ProgressBoard board = board_of(3);
  board.heard(1, record_of(12, "allreduce of bucket 4"), kStart + 20s);
  board.heard(2, record_of(11, "allreduce of bucket 3 (fc.weight)"), kStart + 18500ms);
  EXPECT_EQ(late_ranks_text(board, 12, kStart + 20s),
            "\n  rank 2 on node2 is late: last heard of 1.5 s ago, in backward of step 41, after "
            "layer2.0.conv1.weight; its last collective was allreduce of bucket 3 (fc.weight)");
}

TEST(StallReport, ARankThatRunsButHasNotComeIsLate) {
  ProgressBoard board = board_of(2);
  board.heard(1, record_of(11, "x", Doing::waiting_for_data), kStart + 20s);
  EXPECT_THAT(late_ranks_text(board, 12, kStart + 20500ms),
              HasSubstr("rank 1 on node1 is late: last heard of 0.5 s ago, waiting for data of step 41"));
}

TEST(StallReport, ARankThatCameAndThenFellSilentIsNamed) {
  ProgressBoard board = board_of(3);
  board.heard(1, record_of(12, "x"), kStart + 12s);
  board.heard(2, record_of(12, "x"), kStart + 20s);
  const std::string text = late_ranks_text(board, 12, kStart + 20s);
  EXPECT_THAT(text, HasSubstr("rank 1 on node1 is silent (stopped, or cut off): last heard of 8.0 s ago"));
  EXPECT_THAT(text, Not(HasSubstr("rank 2")));
}

TEST(StallReport, ARankThatWasNeverHeardOfIsSilent) {
  const ProgressBoard board = board_of(2);
  EXPECT_EQ(late_ranks_text(board, 1, kStart + 30s),
            "\n  rank 1 on node1 is silent (stopped, or cut off): nothing was heard of it in 30 s");
}

TEST(StallReport, WhereAllHaveComeTheNetworkIsSuspect) {
  ProgressBoard board = board_of(3);
  for (const int rank : {1, 2}) board.heard(rank, record_of(12, "x"), kStart + 20s);
  EXPECT_EQ(late_ranks_text(board, 12, kStart + 21s),
            "\n  all other ranks have come to it, and run: the network between them is suspect");
}

TEST(StallReport, OfManyLateRanksTheFirstFewAreNamedAndTheOthersCounted) {
  ProgressBoard board = board_of(64);
  for (int rank = 1; rank < 64; ++rank) board.heard(rank, record_of(rank == 50 ? 3 : 5, "x"), kStart + 20s);
  const std::string text = late_ranks_text(board, 12, kStart + 20s);
  EXPECT_EQ(text.find("\n  rank 50 on node50 is late"), 0U);  // furthest behind
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);
  EXPECT_THAT(text, testing::EndsWith("\n  and 55 more of 64 ranks"));
}

TEST(StallReport, ARankThatHasEndedInOrderIsNotSilentButLate) {
  ProgressBoard board = board_of(2);
  ProgressRecord last = record_of(11, "x", Doing::ending);
  last.leaves = true;
  board.heard(1, last, kStart);
  EXPECT_THAT(late_ranks_text(board, 11, kStart + 60s), HasSubstr("all other ranks have come"));
  EXPECT_THAT(late_ranks_text(board, 12, kStart + 60s), HasSubstr("ending after step 40, at its end"));
}

TEST(StallReport, SaysNothingWhereNothingIsKnown) {
  EXPECT_EQ(late_ranks_text(board_of(3, false), 12, kStart + 60s), "");
}

TEST(ProgressRecord, HoldsWhatTheRankIsAt) {
  FlightRecorder recorder;
  Activity activity;
  activity.name_layers({"fc.weight"});
  activity.set(Doing::forward, 3);
  activity.announce(0);
  recorder.submitted(1, "broadcast", 8);
  const ProgressRecord record = make_record(recorder, activity);
  EXPECT_EQ(record.marks.submitted, 1U);
  EXPECT_EQ(record.marks.text.view(), "broadcast");
  EXPECT_EQ(record.step, 3);
  EXPECT_EQ(record.doing, Doing::forward);
  EXPECT_EQ(record.layer.view(), "fc.weight");
  EXPECT_FALSE(record.leaves);
}

TEST(FlightJson, HoldsReasonActivityCollectivesAndPeers) {
  FlightRecorder recorder;
  Activity activity;
  activity.set(Doing::saving, 3);
  recorder.submitted(5, "sum of \"a\\b\"\n", 8);
  recorder.started(5);
  ProgressBoard board = board_of(2);
  board.heard(1, record_of(4, "y"), kStart);
  const std::string json = flight_json(recorder, activity, &board, "because\tof it");
  for (
      const char* part :
      {R"("version": 1, "rank": 0, "ranks": 2, "host": "node0")", R"("reason": "because\u0009of it")",
       R"("doing": "saving after step 3", "layer": "")",
       R"({"number": 5, "what": "sum of \"a\\b\"\u000a", "bytes": 8, "state": "started", "submitted": )",
       R"("completed": null})", R"({"rank": 1, "host": "node1", "seconds_since_news": )",
       R"("doing": "in backward of step 41", "layer": "layer2.0.conv1.weight", "submitted": 4, "started": 4)"})
    EXPECT_THAT(json, HasSubstr(part));
  EXPECT_THAT(flight_json(recorder, activity, nullptr, ""),
              HasSubstr(R"("rank": 0, "ranks": 1, "host": "")"));
}

}  // namespace
}  // namespace trireme
