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

/// What a batch of `rows` more or less takes: the arena and the input slots grow with the batch, the flat
/// buffers do not.
void check_memory(const std::vector<ProgramPlan>& plans, const FlatLayout& layout, bool training,
                  const Device& device) {
  const std::optional<std::size_t> free = device.free_bytes();
  if (!free) return;
  const ProgramPlan* largest = nullptr;
  std::size_t slots = 0;
  for (const ProgramPlan& plan : plans) {
    slots += plan.slot_bytes();
    if (largest == nullptr || plan.arena_bytes() > largest->arena_bytes()) largest = &plan;
  }
  if (largest == nullptr) return;
  constexpr std::size_t kFlatBuffersOfTraining = 3;  // parameters, gradients, momentum
  const std::size_t fixed = layout.bytes() * (training ? kFlatBuffersOfTraining : 1);
  const std::size_t growing = largest->arena_bytes() + slots;
  if (fixed + growing <= *free) return;
  const double share = *free > fixed ? static_cast<double>(*free - fixed) / static_cast<double>(growing) : 0;
  const auto rows = static_cast<std::int64_t>(share * static_cast<double>(largest->batch()));
  throw make_error(
      Status::configuration,
      "the device's memory is too small: {} pictures at once take {:.0f} MiB, {:.0f} MiB are free",
      largest->batch(), mebibytes(fixed + growing), mebibytes(*free))
      .at(device.description())
      .hint(rows > 0 ? fmt::format("about {} pictures per rank would fit: a smaller {} or more --accumulate",
                                   rows, largest->mode() == Mode::train ? "--global-batch" : "--eval-batch")
                     : "the parameters alone do not fit: a smaller network");
}

}  // namespace

Programs::Programs(const Graph& graph, const FlatLayout& layout, Device& device,
                   BufferSource& gradient_memory, const Options& options) {
  std::vector<ProgramPlan> plans;
  for (const std::int64_t rows : options.train_rows)
    plans.emplace_back(graph, device, rows, Mode::train, options.train_input);
  if (options.eval_rows > 0)
    plans.emplace_back(graph, device, options.eval_rows, Mode::eval, options.eval_input);
  std::size_t arena_bytes = 0;
  for (const ProgramPlan& plan : plans) arena_bytes = std::max(arena_bytes, plan.arena_bytes());
  const bool training = !options.train_rows.empty();
  memory_report_ = report_of(plans, arena_bytes, layout, training);

  check_memory(plans, layout, training, device);

  parameters_ = device.allocate(layout.bytes());
  if (training) gradients_ = gradient_memory.allocate(layout.bytes());
  arena_ = device.allocate(arena_bytes);
  const ModelMemory memory{parameters_.get(), gradients_.get(), arena_.get()};
  for (ProgramPlan& plan : plans) {
    const std::int64_t rows = plan.batch();
    auto& place = plan.mode() == Mode::train ? train_[rows] : eval_;
    place = std::make_unique<Program>(std::move(plan), layout, memory, options.seed, options.group,
                                      options.recording);
  }
}

Program& Programs::train(std::int64_t rows) {
  const auto found = train_.find(rows);
  TRIREME_ASSERT(found != train_.end(), "a program was planned for every batch size of the epoch");
  return *found->second;
}

std::string Programs::recording_obstacle() const {
  for (const auto& [rows, program] : train_)
    if (!program->recording_obstacle().empty()) return program->recording_obstacle();
  return eval_ == nullptr ? "" : eval_->recording_obstacle();
}

Program& Programs::eval() {
  TRIREME_ASSERT(eval_ != nullptr, "an evaluation program was asked for");
  return *eval_;
}

}  // namespace trireme
