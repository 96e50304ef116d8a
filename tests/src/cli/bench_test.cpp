// SPDX-License-Identifier: Apache-2.0
// What `trireme bench allreduce` measures and how it is shown.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "src/cli/bench_allreduce.h"
#include "src/cli/bench_exact.h"
#include "src/cli/bench_report.h"
#include "src/cli/bench_sizes.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string error_of(const Words& arguments) {
  try {
    read_allreduce_bench(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    return error.what();
  }
  return "accepted";
}

std::vector<std::int64_t> bytes_of(const std::vector<SweepSize>& sizes) {
  std::vector<std::int64_t> bytes;
  for (const SweepSize& size : sizes) bytes.push_back(size.bytes);
  return bytes;
}

TEST(ByteSize, ReadsPowersOf1024) {
  const ByteSize size;
  EXPECT_EQ(size.read("8"), 8);
  EXPECT_EQ(size.read("64K"), 65536);
  EXPECT_EQ(size.read("4m"), 4 << 20);
  EXPECT_EQ(size.read("3G"), std::int64_t{3} << 30);
  EXPECT_EQ((ByteSize{1, "fit"}).read("fit"), 0);
}

TEST(ByteSize, WritesWhatItReads) {
  for (const char* text : {"8", "1000", "64K", "4M", "1G", "1025K"})
    EXPECT_EQ(ByteSize{}.write(ByteSize{}.read(text)), text);
  EXPECT_EQ((ByteSize{1, "fit"}).write(0), "fit");
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "K", "4X", "4MB", "1.5M", "-4", "0", "4 M", "fit", "9999999999G"})
    EXPECT_THROW(ByteSize{}.read(text), Error) << text;
}

TEST(SweepSizes, AreGeometricWithTheEnd) {
  EXPECT_THAT(bytes_of(sweep_sizes(8, 64, 2, {})), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(bytes_of(sweep_sizes(8, 71, 3, {})), ElementsAre(8, 24));
  EXPECT_THAT(bytes_of(sweep_sizes(8, 8, 2, {})), ElementsAre(8));
}

TEST(SweepSizes, AreWholeElements) {
  EXPECT_THAT(bytes_of(sweep_sizes(1, 9, 2, {})), ElementsAre(4, 8));
}

TEST(SweepSizes, DoNotOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() - 8;
  EXPECT_EQ(sweep_sizes(most / 4, most, 3, {}).size(), 2U);
}

TEST(SweepSizes, TakeSpecialOnesInTheirPlace) {
  const std::vector<SweepSize> special = {{100, "b"}, {16, "a"}, {4, "below"}, {132, "above"}};
  const std::vector<SweepSize> expected = {{8}, {16, "a"}, {32}, {64}, {100, "b"}, {128}};
  EXPECT_EQ(sweep_sizes(8, 128, 2, special), expected);
}

TEST(GradientSizes, AreThoseOfThePapers) {
  const std::vector<SweepSize> expected = {{25557032LL * 4, "resnet50"}, {138357544LL * 4, "vgg16"}};
  EXPECT_EQ(gradient_sizes(), expected);
}

TEST(ExactInputs, SumToWhatIsCompared) {
  constexpr int kRanks = 7;
  std::vector<float> sum(100000, 0), values(sum.size());
  for (int rank = kRanks; rank-- > 0;) {
    fill_exact(values, rank);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  EXPECT_EQ(count_wrong(sum, kRanks), 0);
}

TEST(ExactInputs, ShowEveryKindOfFault) {
  constexpr int kRanks = 3;
  std::vector<float> sum(4096, 0), values(sum.size());
  for (int rank = 0; rank < kRanks; ++rank) {
    fill_exact(values, rank);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  const auto count = static_cast<std::int64_t>(sum.size());
  EXPECT_EQ(count_wrong(sum, kRanks - 1), count);  // a rank too many

  std::vector<float> one_off = sum;
  one_off[4095] += 1;
  one_off[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(count_wrong(one_off, kRanks), 2);

  std::vector<float> moved = sum;  // a piece that landed at its neighbour's place
  std::copy(sum.begin(), sum.begin() + 1024, moved.begin() + 1024);
  EXPECT_GT(count_wrong(moved, kRanks), 1000);

  fill_exact(values, 2);  // one rank three times, instead of three ranks
  for (float& value : values) value *= 3;
  EXPECT_EQ(count_wrong(values, kRanks), count);
}

TEST(ExactInputs, StayExactAtTheMostRanks) {
  constexpr double kLargestInput = 256 + 60;
  EXPECT_LE(kMostExactRanks * kLargestInput, 0x1p24);
  std::vector<float> values(1 << 16);
  for (int rank = 0; rank < 200; ++rank) {
    fill_exact(values, rank);
    EXPECT_LE(*std::max_element(values.begin(), values.end()), kLargestInput);
    EXPECT_GE(*std::min_element(values.begin(), values.end()), 1);
  }
}

TEST(AllReduceBenchSettings, HaveTheDefaultsOfNcclTests) {
  const AllReduceBenchConfig config = read_allreduce_bench({});
  EXPECT_EQ(config.begin_bytes, 8);
  EXPECT_EQ(config.end_bytes, 0);
  EXPECT_EQ(config.factor, 2);
  EXPECT_EQ(config.rounds.timed, 20);
  EXPECT_EQ(config.rounds.warm_up, 5);
  EXPECT_TRUE(config.communicators.empty());
  EXPECT_FALSE(config.json);
}

TEST(AllReduceBenchSettings, FillTheConfig) {
  const AllReduceBenchConfig config =
      read_allreduce_bench({"-b", "1K", "--end=4M", "-f", "4", "-n", "7", "--warmup", "0", "--comm",
                            "mpi,auto", "--timeout", "90s", "--json"});
  EXPECT_EQ(config.begin_bytes, 1024);
  EXPECT_EQ(config.end_bytes, 4 << 20);
  EXPECT_EQ(config.factor, 4);
  EXPECT_EQ(config.rounds.timed, 7);
  EXPECT_EQ(config.rounds.warm_up, 0);
  EXPECT_THAT(config.communicators, ElementsAre("mpi", "auto"));
  EXPECT_EQ(config.timeout_seconds, 90);
  EXPECT_TRUE(config.json);
}

TEST(AllReduceBenchSettings, AreSound) {
  AllReduceBenchConfig config;
  for (const SettingOf<AllReduceBenchConfig>& row : allreduce_bench_settings()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    row.set(config, row.default_text);
    EXPECT_EQ(row.get(config), row.default_text) << row.name;
  }
}

TEST(AllReduceBenchSettings, RefuseWhatIsWrong) {
  EXPECT_THAT(error_of({"-b", "64", "-e", "8"}), HasSubstr("--end 8 is below --begin 64"));
  EXPECT_THAT(error_of({"-e", "4Q"}), HasSubstr("--end: '4Q' is not a size"));
  EXPECT_THAT(error_of({"-f", "1"}), HasSubstr("--factor:"));
  EXPECT_THAT(error_of({"-n", "0"}), HasSubstr("--iterations:"));
  EXPECT_THAT(error_of({"--comm", "mqi"}), HasSubstr("did you mean 'mpi'?"));
  EXPECT_THAT(error_of({"--comm", "mpi,,auto"}), HasSubstr("--comm: there is no communicator ''"));
  EXPECT_THAT(error_of({"--comm", "mpi,mpi"}), HasSubstr("twice"));
  EXPECT_THAT(error_of({"--comm", ""}), HasSubstr("no communicator"));
  EXPECT_THAT(error_of({"4M"}), HasSubstr("unexpected argument '4M'"));
}

AllReduceRow row_of_bytes(const char* communicator, std::int64_t bytes, double seconds, int rounds = 20) {
  return {communicator, {bytes, ""}, 4, rounds, seconds, 0};
}

TEST(AllReduceRow, BusBandwidthCountsWhatEachRankMustMove) {
  const AllReduceRow row = row_of_bytes("ring", 4'000'000, 0.002);
  EXPECT_DOUBLE_EQ(row.algorithm_bandwidth(), 2e9);
  EXPECT_DOUBLE_EQ(row.bus_bandwidth(), 3e9);  // 2(n-1)/n = 1.5
}

TEST(BenchReport, RowsStandUnderTheirHeadings) {
  AllReduceRow row = row_of_bytes("ring", 4'000'000, 0.002);
  row.size.note = "vgg16";
  row.wrong = 3;
  EXPECT_EQ(
      table_row(row),
      "      4000000      1000000    f32      2000.00     2.000     3.000        3  gradients of vgg16\n");
  const std::string heading = table_heading("ring: a description");
  EXPECT_THAT(heading, HasSubstr("# ring: a description\n"));
  EXPECT_THAT(heading,
              HasSubstr("#        size        count   type         time     algbw     busbw   #wrong\n"));
}

TEST(BenchReport, TheFootingTellsOfFewerRounds) {
  const BenchRounds asked{.timed = 20};
  std::vector<AllReduceRow> rows = {row_of_bytes("mpi", 8, 1, 20)};
  EXPECT_EQ(table_footing(rows, asked), "");
  rows.push_back(row_of_bytes("mpi", 16, 1, 9));
  rows.push_back(row_of_bytes("mpi", 32, 1, 4));
  EXPECT_EQ(table_footing(rows, asked), "# slow rows from 16 B on had fewer rounds, at least 4\n");
}

TEST(BenchReport, AveragesAreOfEachCommunicator) {
  const std::vector<AllReduceRow> rows = {row_of_bytes("mpi", 2'000'000'000, 1),
                                          row_of_bytes("mpi", 4'000'000'000, 1),
                                          row_of_bytes("ring", 8'000'000'000, 1)};
  EXPECT_EQ(averages_line(rows), "#\n# average bus bandwidth in GB/s: mpi 4.500, ring 12.000\n");
}

TEST(BenchReport, TheLimitOfMemoryIsTold) {
  const BenchSetting one_node{4, 1, 4, 16e9, {}};
  const std::string heading = bench_heading(one_node);
  EXPECT_THAT(heading, HasSubstr("4 ranks on 1 node, 20 rounds after 5 of warm-up"));
  EXPECT_THAT(heading, HasSubstr("memcpy of 4 ranks at once on the node of rank 0: 16.00 GB/s"));
  EXPECT_THAT(heading, HasSubstr("at most 6.00 GB/s"));  // 16 / 4 x 1.5
  const BenchSetting apart{4, 2, 2, 16e9, {}};
  EXPECT_THAT(bench_heading(apart), testing::Not(HasSubstr("at most")));
}

TEST(BenchReport, JsonHasItsMembersInGigabytes) {
  AllReduceRow row = row_of_bytes("shm", 4'000'000, 0.002);
  row.wrong = 1;
  const Json object = Json::parse(json_row(row, {4, 1, 4, 16e9, {}}).dump());
  EXPECT_EQ(object["comm"], "shm");
  EXPECT_EQ(object["bytes"], 4'000'000);
  EXPECT_DOUBLE_EQ(object["time_us"], 2000);
  EXPECT_DOUBLE_EQ(object["alg_bandwidth"], 2);
  EXPECT_DOUBLE_EQ(object["bus_bandwidth"], 3);
  EXPECT_EQ(object["wrong"], 1);
  EXPECT_DOUBLE_EQ(object["memcpy_bandwidth"], 16);
}

}  // namespace
}  // namespace trireme
