// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "src/comm/world.h"

namespace trireme {
namespace {

/// Exactly these launcher variables are set while it lives.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      saved_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : saved_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

 private:
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_SIZE",
                                           "OMPI_COMM_WORLD_RANK",
                                           "PMIX_RANK",
                                           "PMI_SIZE",
                                           "PMI_RANK",
                                           "MPI_LOCALNRANKS",
                                           "SLURM_NTASKS",
                                           "SLURM_PROCID",
                                           "SLURM_STEP_ID",
                                           "SLURM_STEP_NUM_TASKS"};
  std::map<std::string, std::optional<std::string>> saved_;
};

void expect_facts(const std::map<std::string, std::string>& variables, const std::string& launcher, int rank,
                  int promised) {
  const Environment environment(variables);
  const LaunchFacts facts = read_launch_facts();
  EXPECT_EQ(facts.launcher, launcher);
  EXPECT_EQ(facts.rank, rank);
  EXPECT_EQ(facts.promised_ranks, promised);
}

TEST(LaunchFacts, NothingIsPromisedWithoutALauncher) {
  expect_facts({}, "", 0, 1);
}

TEST(LaunchFacts, KnowsOpenMpi) {
  expect_facts({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}},
               "mpirun (Open MPI)", 3, 4);
}

TEST(LaunchFacts, KnowsHydra) {
  expect_facts({{"PMI_SIZE", "8"}, {"PMI_RANK", "5"}, {"MPI_LOCALNRANKS", "8"}}, "mpiexec (Hydra)", 5, 8);
}

TEST(LaunchFacts, KnowsSrun) {
  const std::map<std::string, std::string> step = {
      {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "6"}};
  expect_facts(step, "srun", 2, 6);
  auto with_pmi = step;
  with_pmi.insert({{"PMI_SIZE", "6"}, {"PMI_RANK", "2"}});
  expect_facts(with_pmi, "srun", 2, 6);
  auto with_pmix = step;
  with_pmix.insert({"PMIX_RANK", "2"});
  expect_facts(with_pmix, "srun", 2, 6);
}

TEST(LaunchFacts, ABatchScriptWithoutSrunPromisesNothing) {
  expect_facts({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}}, "", 0, 1);
}

TEST(LaunchFacts, SeesThroughTheDaemonsThatMpirunStartsBySrun) {
  const std::map<std::string, std::string> daemons = {
      {"SLURM_STEP_ID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}};
  auto open_mpi = daemons;
  open_mpi.insert({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_RANK", "9"}});
  expect_facts(open_mpi, "mpirun (Open MPI)", 9, 16);
  auto hydra = daemons;
  hydra.insert({{"PMI_SIZE", "16"}, {"PMI_RANK", "9"}, {"MPI_LOCALNRANKS", "8"}});
  expect_facts(hydra, "mpiexec (Hydra)", 9, 16);
}

TEST(LaunchFacts, TakesTheRankOfOtherLaunchers) {
  expect_facts({{"PMIX_RANK", "3"}}, "a PMIx launcher", 3, 1);
  expect_facts({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, "a PMI launcher", 3, 4);
}

TEST(LaunchFacts, IgnoresNonsense) {
  expect_facts({{"OMPI_COMM_WORLD_SIZE", "four"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "", 0, 1);
  expect_facts({{"OMPI_COMM_WORLD_SIZE", "4"}}, "", 0, 1);
  expect_facts({{"OMPI_COMM_WORLD_SIZE", "0"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "", 0, 1);
  expect_facts({{"OMPI_COMM_WORLD_SIZE", "99999999999"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "", 0, 1);
}

}  // namespace
}  // namespace trireme
