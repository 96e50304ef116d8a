// SPDX-License-Identifier: Apache-2.0
// How many threads a rank computes with, and on which cores: one rule, as a pure function of facts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trireme {

/// Physical cores by their number on the node.
using CoreSet = std::set<int>;

/// What the rule looks at. Everything is about one node.
struct CoreFacts {
  int local_rank = 0;  ///< this rank among the node's ranks
  std::vector<CoreSet> launch_masks = {
      {}};                       ///< by local rank: cores of the affinity mask that the launcher gave
  CoreSet allowed;               ///< cores that the operating system would let this process use
  double cpu_quota = 0;          ///< the cgroup's CPU time in cores; 0: no limit
  std::string explicit_binding;  ///< who bound the rank on purpose ("--bind-to core", "srun"); empty: nobody
  int flag_threads = 0;          ///< --threads; 0: not given
  std::optional<int> omp_num_threads, slurm_cpus_per_task;
};

/// What a rank does. Empty sets: leave the affinity mask as it is.
struct CorePlan {
  int threads = 1;
  CoreSet compute;  ///< where the main thread and its OpenMP team run
  CoreSet helpers;  ///< where loader and communication threads run; apart from `compute` when cores are left
  std::string reason;     ///< who decided the number of threads
  std::string placement;  ///< who decided the cores
};

/// Threads: the flag, else OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK, else the fair share of what affinity
/// and CPU quota leave. The one-core mask that mpirun gives by default is widened: ranks with such masks
/// share all allowed cores, each taking a disjoint run of them. An explicit binding, or a mask of several
/// cores that no other rank has, is kept; ranks with the same mask of several cores share it. Where threads
/// do not fit the cores, nobody is pinned.
CorePlan plan_cores(const CoreFacts& facts);

/// "0-3,6"
std::string core_list_text(const CoreSet& cores);

}  // namespace trireme
