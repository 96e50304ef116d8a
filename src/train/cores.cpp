// SPDX-License-Identifier: Apache-2.0
#include "src/train/cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/core/error.h"

namespace trireme {
namespace {

/// The cores that a group of local ranks divides, and this rank's place in the group.
struct Pool {
  CoreSet cores;
  int ranks = 1, index = 0;
  bool keep_mask = false;  ///< the launcher's choice stands: count cores, pin nothing
  std::string decided_by;
};

/// Ranks before this one, and all, whose launch mask satisfies `same`.
template <typename Predicate>
void count_sharers(const CoreFacts& facts, Pool& pool, const Predicate& same) {
  pool.ranks = 0;
  for (std::size_t r = 0; r < facts.launch_masks.size(); ++r) {
    if (!same(facts.launch_masks[r])) continue;
    if (static_cast<int>(r) < facts.local_rank) ++pool.index;
    ++pool.ranks;
  }
}

Pool find_pool(const CoreFacts& facts) {
  const CoreSet& own = facts.launch_masks[static_cast<std::size_t>(facts.local_rank)];
  Pool pool;
  const auto equal_to_own = [&](const CoreSet& mask) { return mask == own; };
  if (!facts.explicit_binding.empty()) {
    pool.cores = own;
    pool.keep_mask = true;
    pool.decided_by = facts.explicit_binding;
    count_sharers(facts, pool, equal_to_own);
  } else if (own.size() <= 1 && facts.allowed.size() > own.size()) {
    pool.cores = facts.allowed;
    pool.decided_by = "the launcher's one-core mask was widened";
    count_sharers(facts, pool, [](const CoreSet& mask) { return mask.size() <= 1; });
  } else {
    pool.cores = own;
    count_sharers(facts, pool, equal_to_own);
    pool.keep_mask = pool.ranks == 1 && own != facts.allowed;
    pool.decided_by = pool.keep_mask ? "the launcher's mask" : "the cores allowed";
  }
  return pool;
}

int fair_share(const CoreFacts& facts, const Pool& pool) {
  double share = static_cast<double>(pool.cores.size()) / pool.ranks;
  if (facts.cpu_quota > 0)
    share = std::min(share, facts.cpu_quota / static_cast<double>(facts.launch_masks.size()));
  return std::max(1, static_cast<int>(std::floor(share + 1e-9)));
}

void decide_threads(const CoreFacts& facts, const Pool& pool, CorePlan& plan) {
  if (facts.flag_threads > 0) {
    plan.threads = facts.flag_threads;
    plan.reason = "--threads";
  } else if (facts.omp_num_threads) {
    plan.threads = *facts.omp_num_threads;
    plan.reason = "OMP_NUM_THREADS";
  } else if (facts.slurm_cpus_per_task) {
    plan.threads = *facts.slurm_cpus_per_task;
    plan.reason = "SLURM_CPUS_PER_TASK";
  } else {
    plan.threads = fair_share(facts, pool);
    const bool by_quota = facts.cpu_quota > 0 && facts.cpu_quota < static_cast<double>(pool.cores.size());
    plan.reason = by_quota ? fmt::format("fair share of a CPU quota of {:.2g} cores over {} local ranks",
                                         facts.cpu_quota, facts.launch_masks.size())
                  : pool.ranks == 1
                      ? std::string("all cores of the rank")
                      : fmt::format("fair share of {} cores over {} ranks", pool.cores.size(), pool.ranks);
  }
}

CoreSet slice(const CoreSet& cores, std::size_t begin, std::size_t end) {
  return CoreSet(std::next(cores.begin(), static_cast<std::ptrdiff_t>(begin)),
                 std::next(cores.begin(), static_cast<std::ptrdiff_t>(end)));
}

/// Equal disjoint runs of the pool's cores, one per rank; what division leaves over is for anyone's helpers.
void place_disjoint(const Pool& pool, CorePlan& plan) {
  const std::size_t width = pool.cores.size() / static_cast<std::size_t>(pool.ranks);
  const std::size_t begin = width * static_cast<std::size_t>(pool.index);
  const std::size_t threads = static_cast<std::size_t>(plan.threads);
  plan.compute = slice(pool.cores, begin, begin + threads);
  plan.helpers = slice(pool.cores, begin + threads, begin + width);
  const CoreSet spare = slice(pool.cores, width * static_cast<std::size_t>(pool.ranks), pool.cores.size());
  plan.helpers.insert(spare.begin(), spare.end());
  if (plan.helpers.empty()) plan.helpers = plan.compute;
}

}  // namespace

CorePlan plan_cores(const CoreFacts& facts) {
  TRIREME_ASSERT(facts.local_rank >= 0 && facts.local_rank < static_cast<int>(facts.launch_masks.size()),
                 "the local rank is among the node's ranks");
  const Pool pool = find_pool(facts);
  CorePlan plan;
  decide_threads(facts, pool, plan);
  if (pool.keep_mask) {
    plan.placement = fmt::format("cores {} kept ({})", core_list_text(pool.cores), pool.decided_by);
    return plan;
  }
  const std::size_t wanted = static_cast<std::size_t>(plan.threads) * static_cast<std::size_t>(pool.ranks);
  if (wanted <= pool.cores.size()) {
    place_disjoint(pool, plan);
    plan.placement = fmt::format("own cores {} ({})", core_list_text(plan.compute), pool.decided_by);
  } else {
    plan.compute = plan.helpers = pool.cores;
    plan.placement =
        fmt::format("cores {} shared, not pinned: {} threads in all", core_list_text(pool.cores), wanted);
  }
  return plan;
}

std::string core_list_text(const CoreSet& cores) {
  std::string text;
  for (auto it = cores.begin(); it != cores.end();) {
    auto last = it;
    while (std::next(last) != cores.end() && *std::next(last) == *last + 1) ++last;
    if (!text.empty()) text += ',';
    text += it == last ? fmt::format("{}", *it) : fmt::format("{}-{}", *it, *last);
    it = std::next(last);
  }
  return text.empty() ? "none" : text;
}

}  // namespace trireme
