// SPDX-License-Identifier: Apache-2.0
#include "src/train/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/error.h"

namespace trireme {
namespace {

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

std::string report_of(const std::vector<ProgramPlan>& plans, std::size_t arena_bytes,
                      const FlatLayout& layout, bool training) {
  std::string report;
  for (const ProgramPlan& plan : plans) report += plan.memory_report() + "\n";
  const double flat = mebibytes(layout.bytes());
  report += fmt::format("per rank: arena {:.1f} MiB (shared by {} programs), parameters {:.1f} MiB",
                        mebibytes(arena_bytes), plans.size(), flat);
  if (training) report += fmt::format(", gradients {:.1f} MiB, optimizer {:.1f} MiB", flat, flat);
  return report;
}

}  // namespace

Programs::Programs(const Graph& graph, const FlatLayout& layout, Device& device,
                   BufferSource& gradient_memory, const Options& options) {
  std::vector<ProgramPlan> plans;
  for (const std::int64_t rows : options.train_rows) plans.emplace_back(graph, device, rows, Mode::train);
  if (options.eval_rows > 0) plans.emplace_back(graph, device, options.eval_rows, Mode::eval);
  std::size_t arena_bytes = 0;
  for (const ProgramPlan& plan : plans) arena_bytes = std::max(arena_bytes, plan.arena_bytes());
  const bool training = !options.train_rows.empty();
  memory_report_ = report_of(plans, arena_bytes, layout, training);

  parameters_ = device.allocate(layout.bytes());
  if (training) gradients_ = gradient_memory.allocate(layout.bytes());
  arena_ = device.allocate(arena_bytes);
  const ModelMemory memory{parameters_.get(), gradients_.get(), arena_.get()};
  for (ProgramPlan& plan : plans) {
    const std::int64_t rows = plan.batch();
    auto& place = plan.mode() == Mode::train ? train_[rows] : eval_;
    place = std::make_unique<Program>(std::move(plan), layout, memory, options.seed, options.group);
  }
}

Program& Programs::train(std::int64_t rows) {
  const auto found = train_.find(rows);
  TRIREME_ASSERT(found != train_.end(), "a program was planned for every batch size of the epoch");
  return *found->second;
}

Program& Programs::eval() {
  TRIREME_ASSERT(eval_ != nullptr, "an evaluation program was asked for");
  return *eval_;
}

}  // namespace trireme
