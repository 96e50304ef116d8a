// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_allreduce.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "src/cli/bench_memory.h"
#include "src/cli/bench_report.h"
#include "src/cli/command.h"
#include "src/cli/failure.h"
#include "src/cli/text.h"
#include "src/core/log.h"
#include "src/device/inline_stream.h"
#include "src/train/communication.h"
#include "src/train/start_up.h"

namespace trireme {

namespace {

using Timeout = std::chrono::duration<double>;

// What rank 0 prints: notes and tables on standard output; with --json the rows there, notes as messages.
class Printer {
 public:
  Printer(bool speaks, bool json) : speaks_(speaks), json_(json) {}

  void text(std::string_view lines) const {
    if (speaks_ && !json_) print(lines);
  }
  void note(std::string_view line) const {
    if (!speaks_) return;
    if (json_)
      log::info("{}", line);
    else
      print(fmt::format("# {}\n", line));
  }
  void row(const AllReduceRow& row, const BenchSetting& setting) const {
    if (speaks_) print(json_ ? json_row(row, setting).dump() + "\n" : table_row(row));
  }

 private:
  static void print(std::string_view lines) {
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    std::fflush(stdout);
  }

  bool speaks_, json_;
};

std::int64_t choose_end(const AllReduceBenchConfig& config, std::int64_t share, const Printer& printer) {
  if (config.end_bytes > share)
    throw make_error(Status::configuration, "{} for each rank are more than the memory that is free, {}",
                     bytes_text(static_cast<std::uint64_t>(config.end_bytes)),
                     bytes_text(static_cast<std::uint64_t>(share)))
        .at("--end")
        .hint("end with smaller messages, or start fewer ranks on a node");
  if (config.end_bytes != 0) return config.end_bytes;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const std::int64_t end = std::max(std::min(kMost, share / 2), config.begin_bytes);
  if (end < kMost)
    printer.note(fmt::format("messages of at most {}, half of what memory is free for each rank",
                             bytes_text(static_cast<std::uint64_t>(end))));
  return end;
}

int count_nodes(const World& world, Timeout timeout) {
  const std::string first_of_node = world.local_rank() == 0 ? "first" : "";
  const auto texts = world.all().allgather_text(first_of_node, timeout, "the nodes of all ranks");
  return static_cast<int>(std::count(texts.begin(), texts.end(), "first"));
}

class AllReduceSweep {
 public:
  AllReduceSweep(const AllReduceBenchConfig& config, const World& world, const LaunchFacts& launch)
      : config_(config),
        world_(world),
        timeout_(config.timeout_seconds),
        printer_(world.rank() == 0, config.json),
        cores_(world, launch, 1, timeout_) {}

  void run() {
    const std::int64_t share = memory_share(world_, timeout_);
    const std::vector<SweepSize> special = gradient_sizes();
    sizes_ = sweep_sizes(config_.begin_bytes, choose_end(config_, share, printer_), config_.factor, special);
    setting_ = {world_.size(), count_nodes(world_, timeout_), world_.local_size(),
                node_memcpy_bandwidth(world_, share, timeout_), config_.rounds};
    printer_.text(bench_heading(setting_));
    for (const std::string& name : names()) run_communicator(name);
    printer_.text(averages_line(rows_));
    check_sums();
  }

 private:
  std::vector<std::string> names() const {
    if (!config_.communicators.empty()) return config_.communicators;
    std::vector<std::string> all;
    for (const CommunicatorName& communicator : communicator_names())
      if (communicator.name != "auto") all.emplace_back(communicator.name);  // one of the others
    return all;
  }

  void run_communicator(const std::string& name) {
    const auto most_bytes = static_cast<std::size_t>(sizes_.back().bytes);
    CommunicatorOptions options{.kind = name, .window_bytes = most_bytes};
    const CommunicatorChoice choice = choose_communicator(options, world_.all(), timeout_);
    if (!choice.obstacle.empty()) {
      printer_.note(fmt::format("{} cannot be used here: {}", name, choice.obstacle));
      return;
    }
    InlineStream stream;
    const Communication communication(options, world_.all(), timeout_, cores_);
    AllReduceBench bench(*communication.gradients, *communication.scalars, stream, config_.rounds,
                         most_bytes);
    printer_.text(table_heading(communication.gradients->description()));
    const std::size_t first = rows_.size();
    for (const SweepSize& size : sizes_) {
      rows_.push_back(bench.measure(size));
      printer_.row(rows_.back(), setting_);
    }
    printer_.text(table_footing(std::span(rows_).subspan(first), config_.rounds));
  }

  void check_sums() const {
    std::set<std::string> wrong;
    for (const AllReduceRow& row : rows_)
      if (row.wrong > 0) wrong.insert(row.communicator);
    if (!wrong.empty())
      throw make_error(Status::internal, "wrong sums by {}", fmt::join(wrong, ", "))
          .hint("the column #wrong counts them; a fault of the network, of memory or of this program");
  }

  const AllReduceBenchConfig& config_;
  const World& world_;
  Timeout timeout_;
  Printer printer_;
  CoreBinding cores_;
  std::vector<SweepSize> sizes_;
  BenchSetting setting_;
  std::vector<AllReduceRow> rows_;
};

}  // namespace

Status run_bench_allreduce(const Invocation& invocation) {
  const AllReduceBenchConfig config = read_allreduce_bench(invocation.arguments);
  const auto body = [&](const World& world) {
    check_world_size(world, invocation.launch, 0);
    log::setup(world.rank(), world.size());
    if (world.size() == 1) {
      Printer(true, config.json)
          .note("one rank: there is no traffic; mpirun -n 4 trireme bench allreduce starts four");
      return Status::ok;
    }
    AllReduceSweep(config, world, invocation.launch).run();
    return Status::ok;
  };
  return run_with_world(invocation, body, Timeout(config.timeout_seconds));
}

}  // namespace trireme
