// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "src/graph/program_plan.h"

namespace trireme {

namespace {

std::string_view kind_text(Block::Kind kind) {
  switch (kind) {
    case Block::Kind::output:
      return "output";
    case Block::Kind::gradient:
      return "gradient";
    case Block::Kind::sum:
      return "gradient sum";
    case Block::Kind::saved:
      return "saved";
    case Block::Kind::scratch:
      return "scratch";
  }
  return "";
}

bool has_spec(Block::Kind kind) {
  return kind != Block::Kind::saved && kind != Block::Kind::scratch;
}

class Report {
 public:
  explicit Report(const ProgramPlan::Impl& plan) : plan_(plan) {
    for (const Node& node : plan.graph.nodes()) name_width_ = std::max(name_width_, node.name.size());
  }

  std::string text() {
    out_ = fmt::format("Memory of the {} program, batch {}, {} nodes, {} steps\n",
                       plan_.mode == Mode::train ? "train" : "eval", plan_.batch, plan_.nodes.size(),
                       plan_.steps());
    row("node", "block", "shape", "layout", "bytes", "offset", "steps");
    for (const Block& block : plan_.blocks) block_row(block);
    shared_rows();
    totals();
    return out_;
  }

 private:
  void row(std::string_view node, std::string_view block, std::string_view shape, std::string_view layout,
           std::string_view bytes, std::string_view offset, std::string_view steps) {
    out_ += fmt::format("{:<{}}  {:<12}  {:<20}  {:<12} {:>13} {:>13}  {}\n", node, name_width_, block, shape,
                        layout, bytes, offset, steps);
  }

  void block_row(const Block& block) {
    const Node& node = plan_.graph.node(block.node);
    const ValueSpec& spec = plan_.spec(node.output);
    row(node.name, kind_text(block.kind), has_spec(block.kind) ? spec.shape.text() : "",
        has_spec(block.kind) ? layout_text(spec) : "", std::to_string(block.use.bytes),
        std::to_string(block.offset), fmt::format("{}..{}", block.use.first, block.use.last));
  }

  // Outputs that were written over their input.
  void shared_rows() {
    for (const Node& node : plan_.graph.nodes()) {
      const BlockId id = plan_.producer(node.output).output;
      const Block& block = plan_.blocks[static_cast<std::size_t>(id)];
      if (plan_.graph.node(block.node).output == node.output) continue;
      const ValueSpec& spec = plan_.spec(node.output);
      row(node.name, "output", spec.shape.text(), layout_text(spec), "in place", std::to_string(block.offset),
          fmt::format("over the output of {}", plan_.graph.node(block.node).name));
    }
  }

  void totals() {
    std::map<Block::Kind, std::size_t> by_kind;
    std::vector<MemoryInterval> uses;
    for (const Block& block : plan_.blocks) {
      by_kind[block.kind] += arena_aligned(block.use.bytes);
      uses.push_back(block.use);
    }
    std::size_t all = 0;
    for (const auto& [kind, bytes] : by_kind) {
      total(fmt::format("{}, without reuse", kind_text(kind)), bytes);
      all += bytes;
    }
    total("all of these, without reuse", all);
    total("most in use at one step", peak_bytes(uses));
    total("arena", plan_.arena_bytes);
    total("two input slots", 2 * plan_.slot_image_bytes());
    if (plan_.group_sum_bytes() > 0) total("sums over all ranks", plan_.group_sum_bytes());
    const std::size_t flat = FlatLayout(plan_.graph).bytes();
    total("parameters", flat);
    if (plan_.mode == Mode::train) total("gradients of parameters", flat);
  }

  void total(std::string_view what, std::size_t bytes) {
    out_ += fmt::format("{:<32} {:>13} bytes {:>10.1f} MiB\n", what, bytes,
                        static_cast<double>(bytes) / (1 << 20));
  }

  const ProgramPlan::Impl& plan_;
  std::size_t name_width_ = 4;
  std::string out_;
};

}  // namespace

std::string ProgramPlan::memory_report() const {
  return Report(*impl_).text();
}

}  // namespace trireme
