// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <limits>
#include <optional>

#include "src/comm/world.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

/// A launcher is recognised when all variables of its row are set to sensible numbers.
struct Launcher {
  const char* name;
  const char* rank_variable;
  const char* size_variable;    ///< null: it does not say how many it starts
  const char* marker_variable;  ///< null: rank and size are proof enough
};

// In order of trust: mpirun and Hydra may themselves use srun to reach the nodes, and then srun's numbers
// count their daemons. SLURM_NTASKS and SLURM_PROCID alone prove nothing: a batch script has them too,
// without srun.
constexpr Launcher kLaunchers[] = {
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"mpiexec (Hydra)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
    {"a PMI launcher", "PMI_RANK", "PMI_SIZE", nullptr},
    {"a PMIx launcher", "PMIX_RANK", nullptr, nullptr},
};

std::optional<std::int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : parse_int(text);
}

std::optional<LaunchFacts> facts_of(const Launcher& launcher) {
  if (launcher.marker_variable != nullptr && !number_in(launcher.marker_variable)) return std::nullopt;
  const auto rank = number_in(launcher.rank_variable);
  const auto size =
      launcher.size_variable == nullptr ? std::optional<std::int64_t>(1) : number_in(launcher.size_variable);
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (!rank || !size || *rank < 0 || *rank > kMax || *size < 1 || *size > kMax) return std::nullopt;
  return LaunchFacts{launcher.name, static_cast<int>(*rank), static_cast<int>(*size)};
}

}  // namespace

LaunchFacts read_launch_facts() {
  for (const Launcher& launcher : kLaunchers)
    if (const auto facts = facts_of(launcher)) return *facts;
  return {};
}

}  // namespace trireme
