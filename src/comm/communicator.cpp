// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "src/comm/hierarchical.h"
#include "src/comm/mpi_library.h"
#include "src/comm/mpi_ring.h"
#include "src/comm/nccl_kinds.h"
#include "src/comm/node_topology.h"
#include "src/comm/shared_memory.h"
#include "src/comm/shm_obstacle.h"
#include "src/comm/staged.h"
#include "src/core/deadline.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

/// What the rows of the table decide by.
struct Situation {
  const CommunicatorOptions& options;
  const Group& group;
  NodeTopology topology;
  std::chrono::duration<double> timeout;
};

struct Kind {
  CommunicatorName name;
  bool uses_tuning;
  bool sums_16_bits;
  /// Where "auto" prefers it to those after it in the table.
  bool (*suits)(const Situation& situation);
  /// Why it cannot be used, or nothing. Collective.
  std::string (*obstacle)(const Situation& situation);
  std::unique_ptr<Communicator> (*make)(const CommunicatorOptions& options, const Group& group,
                                        CommThread& thread);
};

std::string no_obstacle(const Situation& /*situation*/) {
  return {};
}

std::string obstacle_to_nccl(const Situation& situation) {
  return nccl_obstacle(situation.options, situation.group, situation.timeout);
}

bool has_several_gpus(const Situation& situation) {
  return situation.options.gpu != nullptr && situation.topology.ranks > 1;
}

/// Of communicators of host memory: sums for GPUs are made there, too.
std::unique_ptr<Communicator> on_the_host(const CommunicatorOptions& options,
                                          std::unique_ptr<Communicator> communicator) {
  if (options.gpu == nullptr) return communicator;
  return std::make_unique<StagedCommunicator>(std::move(communicator), *options.gpu->device);
}

std::unique_ptr<Communicator> make_mpi_library(const CommunicatorOptions& options, const Group& group,
                                               CommThread& thread) {
  return on_the_host(options, std::make_unique<MpiLibrary>(group, thread));
}

std::unique_ptr<Communicator> make_mpi_ring(const CommunicatorOptions& options, const Group& group,
                                            CommThread& thread) {
  return on_the_host(options, std::make_unique<MpiRing>(group, thread, options.tuning));
}

std::string obstacle_to_shared_memory(const Situation& situation) {
  return shared_memory_obstacle(situation.group, situation.options.window_bytes);
}

std::unique_ptr<Communicator> make_shared_memory(const CommunicatorOptions& options, const Group& group,
                                                 CommThread& thread) {
  return on_the_host(options, std::make_unique<SharedMemory>(group, thread, options.window_bytes));
}

/// Whether NCCL sums inside the nodes. Collective.
bool hierarchical_has_nccl(const CommunicatorOptions& options, const Group& group,
                           std::chrono::duration<double> timeout) {
  return options.gpu != nullptr && hierarchical_nccl_obstacle(options, group, timeout).empty();
}

/// The first node's obstacle, on all ranks.
std::string obstacle_to_hierarchical(const Situation& situation) {
  if (hierarchical_has_nccl(situation.options, situation.group, situation.timeout)) return {};
  const Group node = split_by_node(situation.group);
  const std::string own = shared_memory_obstacle(node, situation.options.window_bytes);
  for (const std::string& text : situation.group.allgather_text(
           own, situation.timeout, "all nodes to have looked at their shared memory"))
    if (!text.empty()) return text;
  return {};
}

std::unique_ptr<Communicator> make_hierarchical(const CommunicatorOptions& options, const Group& group,
                                                CommThread& thread) {
  if (hierarchical_has_nccl(options, group, thread.limit().timeout))
    return make_hierarchical_nccl(options, group, thread);
  return on_the_host(options,
                     std::make_unique<Hierarchical>(group, thread, options.window_bytes, options.tuning));
}

constexpr CommunicatorName kAuto{"auto", "the best one for where the ranks are"};
// In the order in which "auto" asks.
const Kind kKinds[] = {
    {{"nccl", "NCCL, between GPUs, by the algorithms that it chooses"},
     false,
     true,
     has_several_gpus,
     obstacle_to_nccl,
     make_nccl},
    {{"nccl-ring", "NCCL, asked for its ring"},
     false,
     true,
     [](const Situation& /*at*/) { return false; },  // where it can be used, so can NCCL's own choice
     obstacle_to_nccl,
     make_nccl_ring},
    {{"shm", "ranks of one node sum in memory that they share, without messages or copies"},
     false,
     true,
     [](const Situation& at) { return at.topology.nodes == 1 && at.topology.ranks > 1; },
     obstacle_to_shared_memory,
     make_shared_memory},
    {{"hierarchical", "shared memory, or NCCL, inside each node, rings of messages between the nodes"},
     true,
     true,
     [](const Situation& at) { return at.topology.nodes > 1 && at.topology.largest > 1; },
     obstacle_to_hierarchical,
     make_hierarchical},
    {{"ring", "reduce-scatter and allgather around a ring of messages, in pipelined segments"},
     true,
     true,
     [](const Situation& at) { return at.topology.ranks > 1; },
     no_obstacle,
     make_mpi_ring},
    {{"mpi", "the MPI library's own collectives (MPI_Iallreduce)"},
     false,
     false,
     [](const Situation& /*at*/) { return true; },
     no_obstacle,
     make_mpi_library},
};

std::vector<CommunicatorName> names_of_kinds() {
  std::vector<CommunicatorName> names{kAuto};
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

const Kind& find_kind(const std::string& wanted) {
  for (const Kind& kind : kKinds)
    if (kind.name.name == wanted) return kind;
  std::vector<std::string> names;
  for (const CommunicatorName& name : communicator_names()) names.emplace_back(name.name);
  const std::string nearest = nearest_name(wanted, names);
  throw make_error(Status::configuration, "there is no communicator '{}'", wanted)
      .at("--comm")
      .hint(nearest.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                            : fmt::format("did you mean '{}'?", nearest));
}

bool sums(const Kind& kind, DType wire) {
  return kind.sums_16_bits || (wire != DType::bf16 && wire != DType::f16);
}

/// One that suits, else one that can: a rank alone needs nobody, but a narrow wire asks for its type.
const Kind& best_kind(const Situation& situation) {
  for (const bool must_suit : {true, false})
    for (const Kind& kind : kKinds)
      if (sums(kind, situation.options.wire) && (!must_suit || kind.suits(situation)) &&
          kind.obstacle(situation).empty())
        return kind;
  throw make_error(Status::configuration, "no communicator sums {}", name_of(situation.options.wire));
}

}  // namespace

const std::vector<CommunicatorName>& communicator_names() {
  static const std::vector<CommunicatorName> names = names_of_kinds();
  return names;
}

CommunicatorChoice choose_communicator(const CommunicatorOptions& options, const Group& group,
                                       std::chrono::duration<double> timeout) {
  const Kind* const wanted = options.kind == kAuto.name ? nullptr : &find_kind(options.kind);
  if (wanted != nullptr && !sums(*wanted, options.wire))
    throw make_error(Status::configuration, "--comm {} does not sum {}", options.kind, name_of(options.wire))
        .hint("take another --comm, or --wire fp32");
  const Situation situation{options, group, read_topology(group, timeout), timeout};
  const std::string obstacle = wanted == nullptr ? "" : wanted->obstacle(situation);
  const bool as_wanted = wanted != nullptr && obstacle.empty();
  const Kind& kind = as_wanted ? *wanted : best_kind(situation);
  return {std::string(kind.name.name), situation.topology, obstacle, kind.uses_tuning};
}

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options, const Group& group,
                                                CommThread& thread) {
  return find_kind(options.kind).make(options, group, thread);
}

void drain(Communicator& communicator, std::span<const Ticket> tickets) noexcept {
  Deadline deadline(std::chrono::seconds(5));
  for (const Ticket ticket : tickets)
    while (!communicator.done(ticket) && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace trireme
