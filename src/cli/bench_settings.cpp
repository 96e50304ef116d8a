// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/cli/bench_allreduce.h"
#include "src/cli/command.h"
#include "src/core/parse.h"
#include "src/train/flags.h"

namespace trireme {

namespace {

using C = AllReduceBenchConfig;
using Row = SettingOf<C>;

std::vector<std::string> names_of_communicators() {
  std::vector<std::string> names;
  for (const CommunicatorName& communicator : communicator_names()) names.emplace_back(communicator.name);
  return names;
}

// Names of communicators, comma-separated; "all" is the empty list.
struct CommunicatorList {
  using Value = std::vector<std::string>;
  std::string value_name() const { return "all|NAME,NAME"; }
  Value read(std::string_view text) const {
    if (text == "all") return {};
    const std::vector<std::string> known = names_of_communicators();
    Value names;
    for (const std::string& name : split(text, ',')) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string nearest = nearest_name(name, known);
        throw bad_value("there is no communicator '{}'", name)
            .hint(nearest.empty() ? fmt::format("all, or some of: {}", fmt::join(known, ", "))
                                  : fmt::format("did you mean '{}'?", nearest));
      }
      if (std::find(names.begin(), names.end(), name) != names.end())
        throw bad_value("'{}' stands there twice", name);
      names.push_back(name);
    }
    if (names.empty()) throw bad_value("no communicator").hint("all is the default");
    return names;
  }
  std::string write(const Value& names) const {
    return names.empty() ? "all" : fmt::format("{}", fmt::join(names, ","));
  }
};

// Fields of BenchRounds, seen as settings of the whole.
Row rounds_row(std::string_view name, int BenchRounds::*field, const Integer& kind,
               std::string_view default_text, std::string_view help) {
  Row row = setting<C>(name, &C::factor, kind, default_text, help);
  row.set = [field, kind](C& config, std::string_view text) {
    config.rounds.*field = narrow_value<int>(kind.read(text), text);
  };
  row.get = [field, kind](const C& config) { return kind.write(config.rounds.*field); };
  return row;
}

std::vector<Row> size_settings() {
  return {
      setting("begin", &C::begin_bytes, ByteSize{}, "8", "smallest message: 8, 64K, 4M").with_letter('b'),
      setting("end", &C::end_bytes, ByteSize{1, "fit"}, "fit",
              "largest message; fit: 1G, or less where that is more than half of a node's free memory")
          .with_letter('e'),
      setting("factor", &C::factor, Integer{2, 1 << 20}, "2", "from one size to the next").with_letter('f'),
  };
}

std::vector<Row> round_settings() {
  return {
      rounds_row("iterations", &BenchRounds::timed, Integer{1, 1 << 30}, "20",
                 "rounds that are timed; fewer for messages of which they would take more than seconds")
          .with_letter('n'),
      rounds_row("warmup", &BenchRounds::warm_up, Integer{0, 1 << 30}, "5", "rounds before those")
          .with_letter('w'),
  };
}

std::vector<Row> other_settings() {
  return {
      setting("comm", &C::communicators, CommunicatorList{}, "all",
              fmt::format("what sums: some of {}", fmt::join(names_of_communicators(), ", "))),
      setting("timeout", &C::timeout_seconds, Duration{}, "10min",
              "longest wait for another rank: 600, 90s, 10min, 2h"),
      setting("json", &C::json, Switch{}, "false", "print one JSON object for each row"),
  };
}

}  // namespace

const std::vector<Row>& allreduce_bench_settings() {
  static const std::vector<Row> table = [] {
    std::vector<Row> rows;
    add_group<C>(rows, "Messages", size_settings());
    add_group<C>(rows, "Rounds", round_settings());
    add_group<C>(rows, "Others", other_settings());
    return rows;
  }();
  return table;
}

AllReduceBenchConfig read_allreduce_bench(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(allreduce_bench_settings()));
  if (!line.positionals.empty())
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals.front())
        .hint("the largest message is given as --end 64M, communicators as --comm ring,mpi");
  AllReduceBenchConfig config;
  apply_defaults(allreduce_bench_settings(), config);
  apply_flags(allreduce_bench_settings(), line, config);
  if (config.end_bytes != 0 && config.end_bytes < config.begin_bytes)
    throw make_error(Status::usage, "--end {} is below --begin {}", config.end_bytes, config.begin_bytes);
  return config;
}

std::string bench_allreduce_help() {
  return "usage: mpirun -n 4 trireme bench allreduce [settings]\n\n"
         "Sums fp32 tensors over all ranks in place, compares every element with the exact sum, and prints "
         "how long\n"
         "it took, in nccl-tests' columns: algbw = bytes / time, busbw = algbw x 2(n-1)/n. The gradients of "
         "ResNet-50\n"
         "and VGG16 are among the sizes. Status 70 if an element is wrong.\n\n" +
         settings_help(infos_of(allreduce_bench_settings()));
}

}  // namespace trireme
