// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_report.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/cli/text.h"

namespace trireme {

namespace {

double gigabytes(double bytes) {
  return bytes * 1e-9;
}

std::int64_t elements(const AllReduceRow& row) {
  return row.size.bytes / static_cast<std::int64_t>(sizeof(float));
}

// An allreduce reads each rank's tensor at least once and writes it at least once, which is what a memcpy of
// it does. So n ranks whose copies move B bytes/s together cannot sum faster than B/n each.
std::string memory_limit(const BenchSetting& setting) {
  const int n = setting.ranks;
  const double limit = setting.memcpy_bandwidth / n * 2 * (n - 1) / n;
  return fmt::format(
      "# in one node each tensor is read and written at least once: busbw beyond the caches is at most "
      "{:.2f} GB/s\n",
      gigabytes(limit));
}

}  // namespace

std::string bench_heading(const BenchSetting& setting) {
  std::string text = fmt::format(
      "# allreduce, sum, in place: {} on {}, {} after {} of warm-up\n"
      "# memcpy of {} at once on the node of rank 0: {:.2f} GB/s\n",
      counted(setting.ranks, "rank", "ranks"), counted(setting.nodes, "node", "nodes"),
      counted(setting.rounds.timed, "round", "rounds"), setting.rounds.warm_up,
      counted(setting.ranks_of_node, "rank", "ranks"), gigabytes(setting.memcpy_bandwidth));
  if (setting.nodes == 1) text += memory_limit(setting);
  return text;
}

std::string table_heading(std::string_view description) {
  return fmt::format(
      "#\n# {}\n"
      "#{:>12} {:>12} {:>6} {:>12} {:>9} {:>9} {:>8}\n"
      "#{:>12} {:>12} {:>6} {:>12} {:>9} {:>9}\n",
      description, "size", "count", "type", "time", "algbw", "busbw", "#wrong", "(B)", "(elements)", "",
      "(us)", "(GB/s)", "(GB/s)");
}

std::string table_row(const AllReduceRow& row) {
  const std::string note = row.size.note.empty() ? "" : fmt::format("  gradients of {}", row.size.note);
  return fmt::format(" {:>12} {:>12} {:>6} {:>12.2f} {:>9.3f} {:>9.3f} {:>8}{}\n", row.size.bytes,
                     elements(row), name_of(DType::f32), row.seconds * 1e6,
                     gigabytes(row.algorithm_bandwidth()), gigabytes(row.bus_bandwidth()), row.wrong, note);
}

std::string table_footing(std::span<const AllReduceRow> rows, const BenchRounds& asked) {
  std::int64_t first = 0;
  int fewest = asked.timed;
  for (const AllReduceRow& row : rows) {
    if (row.rounds >= asked.timed) continue;
    if (first == 0) first = row.size.bytes;
    fewest = std::min(fewest, row.rounds);
  }
  if (first == 0) return "";
  return fmt::format("# slow rows from {} B on had fewer rounds, at least {}\n", first, fewest);
}

std::string averages_line(std::span<const AllReduceRow> rows) {
  std::vector<std::string> names;
  for (const AllReduceRow& row : rows)
    if (std::find(names.begin(), names.end(), row.communicator) == names.end())
      names.push_back(row.communicator);
  std::vector<std::string> averages;
  for (const std::string& name : names) {
    double sum = 0;
    int count = 0;
    for (const AllReduceRow& row : rows)
      if (row.communicator == name) sum += row.bus_bandwidth(), ++count;
    averages.push_back(fmt::format("{} {:.3f}", name, gigabytes(sum / count)));
  }
  return fmt::format("#\n# average bus bandwidth in GB/s: {}\n", fmt::join(averages, ", "));
}

Json json_row(const AllReduceRow& row, const BenchSetting& setting) {
  return Json{{"comm", row.communicator},
              {"ranks", row.ranks},
              {"nodes", setting.nodes},
              {"bytes", row.size.bytes},
              {"count", elements(row)},
              {"type", std::string(name_of(DType::f32))},
              {"rounds", row.rounds},
              {"time_us", row.seconds * 1e6},
              {"alg_bandwidth", gigabytes(row.algorithm_bandwidth())},
              {"bus_bandwidth", gigabytes(row.bus_bandwidth())},
              {"wrong", row.wrong},
              {"note", row.size.note},
              {"memcpy_bandwidth", gigabytes(setting.memcpy_bandwidth)}};
}

}  // namespace trireme
