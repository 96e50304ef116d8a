// SPDX-License-Identifier: Apache-2.0
#include "src/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "src/io/atomic_file.h"
#include "src/train/terminal.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

class MetricsTest : public testing::Test {
 protected:
  std::string said(bool terminal, bool synthetic, const std::function<void(Metrics&)>& use) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen((folder_ / "out").c_str(), "w"),
                                                              std::fclose);
    {
      Console console(out.get(), terminal);
      JsonLog log({folder_ / "log.jsonl", folder_ / "copy.jsonl"});
      Metrics metrics(&console, &log, synthetic, 390);
      use(metrics);
    }
    std::fflush(out.get());
    return read_text(folder_ / "out");
  }
  std::vector<Json> events() {
    std::vector<Json> objects;
    std::ifstream file(folder_ / "log.jsonl");
    for (std::string line; std::getline(file, line);) objects.push_back(Json::parse(line));
    return objects;
  }

  TemporaryFolder folder_;
  const StepReport report_{50, 1, 50, 2.03124, 0.1, 812.4, 3725};
};

TEST_F(MetricsTest, WritesPlainLinesIntoFiles) {
  const std::string text = said(false, false, [&](Metrics& m) {
    m.progress(report_);
    m.step(report_);
    m.eval(1, 390, EvalResult{4816542925, 10000, 9132, 9970, 0});
  });
  EXPECT_EQ(text,
            "epoch 1 step 50/390 loss=2.0312 lr=0.1000 images/s=812\n"
            "epoch 1 eval top1=0.9132 top5=0.9970 loss=0.0287 correct=9132 total=10000\n");
}

TEST_F(MetricsTest, DrawsProgressOnTerminalsOnly) {
  const std::string text = said(true, false, [&](Metrics& m) {
    m.progress(report_);
    m.step(report_);  // the progress line shows it already
    m.say("done");
  });
  EXPECT_EQ(text, "epoch 1 step 50/390 loss=2.0312 lr=0.1000 images/s=812, 1 h 02 min left\r\x1b[Kdone\n");
}

TEST_F(MetricsTest, EveryRateOfSyntheticDataSaysSo) {
  const std::string text = said(false, true, [&](Metrics& m) {
    m.step(report_);
    m.epoch({1, 390, 1.5, 61, 818, 0.01, 0.05, 0.833});
  });
  EXPECT_EQ(text,
            "epoch 1 step 50/390 loss=2.0312 lr=0.1000 images/s=812 (synthetic)\n"
            "epoch 1 train_loss=1.5000 images/s=818 (synthetic) data_wait=1.0% comm_wait=5.0% "
            "comm_hidden=83% (1 min 01 s)\n");
  for (const Json& event : events()) EXPECT_EQ(event.at("synthetic"), true);
}

TEST_F(MetricsTest, LogsOneObjectPerLineInTwoFiles) {
  said(false, false, [&](Metrics& m) {
    m.start({{"ranks", 2}});
    m.step(report_);
    m.epoch({1, 390, 1.5, 61, 818, 0.01, 0.05, std::nan("")});
    m.eval(1, 390, EvalResult{1 << 24, 10, 9, 10, 0});
    m.checkpoint(390, "run/checkpoints/step-390.h5", 0.5, true);
    m.end(Status::stopped, 390, 62);
  });
  const std::vector<Json> all = events();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0].at("event"), "start");
  EXPECT_EQ(all[0].at("ranks"), 2);
  EXPECT_EQ(all[1].at("event"), "step");
  EXPECT_EQ(all[1].at("step"), 50);
  EXPECT_EQ(all[1].at("epoch"), 1);
  EXPECT_EQ(all[1].at("loss"), 2.03124);
  EXPECT_EQ(all[1].at("lr"), 0.1);
  EXPECT_EQ(all[2].at("event"), "epoch");
  EXPECT_EQ(all[2].at("train_loss"), 1.5);
  EXPECT_EQ(all[2].at("images_per_second"), 818);
  EXPECT_EQ(all[2].at("data_wait_share"), 0.01);
  EXPECT_FALSE(all[2].contains("synthetic"));
  EXPECT_EQ(all[3].at("event"), "eval");
  EXPECT_EQ(all[3].at("top1"), 0.9);
  EXPECT_EQ(all[3].at("top5"), 1.0);
  EXPECT_EQ(all[3].at("loss"), 0.1);
  EXPECT_EQ(all[3].at("correct"), 9);
  EXPECT_EQ(all[3].at("total"), 10);
  EXPECT_EQ(all[4].at("event"), "checkpoint");
  EXPECT_EQ(all[5].at("event"), "end");
  EXPECT_EQ(all[5].at("status"), 143);
  EXPECT_EQ(read_text(folder_ / "log.jsonl"), read_text(folder_ / "copy.jsonl"));
}

TEST_F(MetricsTest, NumbersThatAreNotFiniteBecomeNull) {
  said(false, false, [&](Metrics& m) {
    StepReport report = report_;
    report.loss = std::numeric_limits<double>::infinity();
    m.step(report);
    m.eval(1, 390, EvalResult{0, 10, 1, 2, 1});
  });
  EXPECT_TRUE(events()[0].at("loss").is_null());
  EXPECT_TRUE(events()[1].at("loss").is_null());
}

TEST_F(MetricsTest, AppendsAfterATornLine) {
  std::ofstream(folder_ / "log.jsonl") << "{\"event\":\"start\"}\n{\"event\":\"st";
  said(false, false, [&](Metrics& m) { m.end(Status::ok, 1, 1); });
  std::ifstream file(folder_ / "log.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(Json::parse(lines[2]).at("event"), "end");
}

TEST_F(MetricsTest, WithoutOutputsItIsSilent) {
  Metrics metrics(nullptr, nullptr, false, 10);
  metrics.say("x");
  metrics.step(report_);
  metrics.end(Status::ok, 1, 1);
}

TEST(JsonLogFile, SaysWhichLogCannotBeMade) {
  try {
    JsonLog log({"/no/such/folder/log.jsonl"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::cannot_create);
    EXPECT_NE(std::string(error.what()).find("/no/such/folder/log.jsonl"), std::string::npos);
  }
}

TEST(Duration, IsReadable) {
  EXPECT_EQ(duration_for_people(0.4), "0 s");
  EXPECT_EQ(duration_for_people(59.6), "1 min 00 s");
  EXPECT_EQ(duration_for_people(3 * 3600 + 420), "3 h 07 min");
  EXPECT_EQ(duration_for_people(std::numeric_limits<double>::infinity()), "?");
}

TEST(Terminal, TheLaunchersOutputCountsRatherThanItsPseudoTerminal) {
  EXPECT_TRUE(is_seen_by_person("/dev/pts/1", {}, false));
  EXPECT_FALSE(is_seen_by_person("/tmp/out.txt", {"/dev/pts/1"}, false));
  EXPECT_TRUE(is_seen_by_person("/dev/pts/5", {"/dev/pts/1", "/dev/pts/1"}, true));
  EXPECT_FALSE(is_seen_by_person("/dev/pts/5", {"/tmp/out.txt", "/dev/pts/1"}, true));
  EXPECT_FALSE(is_seen_by_person("/dev/pts/5", {"/dev/pts/5", "pipe:[77]"}, true));
  EXPECT_TRUE(is_seen_by_person("/dev/pts/5", {"/dev/pts/5", "/dev/pts/2"}, true));
  EXPECT_FALSE(is_seen_by_person("/dev/pts/5", {}, true));
}

}  // namespace
}  // namespace trireme
