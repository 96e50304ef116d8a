// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator.h"

#include <fmt/ranges.h>

#include <thread>

#include "src/comm/mpi_library.h"
#include "src/core/deadline.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

struct Kind {
  CommunicatorName name;
  std::unique_ptr<Communicator> (*make)(const Group& group, CommThread& thread);
};

std::unique_ptr<Communicator> make_mpi_library(const Group& group, CommThread& thread) {
  return std::make_unique<MpiLibrary>(group, thread);
}

constexpr Kind kKinds[] = {
    {{"auto", "the best one for this machine: mpi"}, make_mpi_library},
    {{"mpi", "the MPI library's own collectives (MPI_Iallreduce)"}, make_mpi_library},
};

std::vector<CommunicatorName> names_of_kinds() {
  std::vector<CommunicatorName> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

}  // namespace

const std::vector<CommunicatorName>& communicator_names() {
  static const std::vector<CommunicatorName> names = names_of_kinds();
  return names;
}

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options, const Group& group,
                                                CommThread& thread) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    if (kind.name.name == options.kind) return kind.make(group, thread);
    names.emplace_back(kind.name.name);
  }
  const std::string nearest = nearest_name(options.kind, names);
  throw make_error(Status::configuration, "there is no communicator '{}'", options.kind)
      .at("--comm")
      .hint(nearest.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                            : fmt::format("did you mean '{}'?", nearest));
}

void drain(Communicator& communicator, std::span<const Ticket> tickets) noexcept {
  const Deadline deadline(std::chrono::seconds(5));
  for (const Ticket ticket : tickets)
    while (!communicator.done(ticket) && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace trireme
