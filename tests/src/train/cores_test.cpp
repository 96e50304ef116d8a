// SPDX-License-Identifier: Apache-2.0
#include "src/train/cores.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

CoreSet cores(int begin, int end) {
  CoreSet set;
  for (int i = begin; i < end; ++i) set.insert(i);
  return set;
}

/// A node of `count` cores where mpirun's default gave each of `ranks` ranks the mask of one core.
CoreFacts one_core_masks(int count, int ranks, int local_rank) {
  CoreFacts facts;
  facts.allowed = cores(0, count);
  facts.local_rank = local_rank;
  facts.launch_masks.clear();
  for (int r = 0; r < ranks; ++r) facts.launch_masks.push_back({r % count});
  return facts;
}

/// The same where every rank may use all cores.
CoreFacts open_masks(int count, int ranks, int local_rank) {
  CoreFacts facts = one_core_masks(count, ranks, local_rank);
  for (CoreSet& mask : facts.launch_masks) mask = facts.allowed;
  return facts;
}

TEST(Cores, OneCoreMasksAreWidenedToDisjointShares) {
  for (int rank = 0; rank < 2; ++rank) {
    const CorePlan plan = plan_cores(one_core_masks(8, 2, rank));
    EXPECT_EQ(plan.threads, 4);
    EXPECT_EQ(plan.compute, cores(4 * rank, 4 * rank + 4));
    EXPECT_NE(plan.placement.find("widened"), std::string::npos) << plan.placement;
  }
}

TEST(Cores, RanksWithTheSameMaskShareItDisjointly) {
  for (int rank = 0; rank < 3; ++rank) {
    const CorePlan plan = plan_cores(open_masks(6, 3, rank));
    EXPECT_EQ(plan.threads, 2);
    EXPECT_EQ(plan.compute, cores(2 * rank, 2 * rank + 2));
  }
}

TEST(Cores, RanksOfEachSocketShareTheirSocketsMask) {
  CoreFacts facts = open_masks(8, 4, 3);
  facts.launch_masks = {cores(0, 4), cores(4, 8), cores(0, 4), cores(4, 8)};
  const CorePlan plan = plan_cores(facts);
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(plan.compute, cores(6, 8));
}

TEST(Cores, MoreRanksThanCoresGetOneUnpinnedThread) {
  for (int rank = 0; rank < 3; ++rank) {
    const CorePlan plan = plan_cores(one_core_masks(2, 3, rank));
    EXPECT_EQ(plan.threads, 1);
    EXPECT_EQ(plan.compute, cores(0, 2));
    EXPECT_EQ(plan.helpers, cores(0, 2));
  }
}

TEST(Cores, TheFlagWinsOverTheEnvironmentAndThatOverTheShare) {
  CoreFacts facts = open_masks(16, 1, 0);
  EXPECT_EQ(plan_cores(facts).threads, 16);
  facts.slurm_cpus_per_task = 6;
  EXPECT_EQ(plan_cores(facts).threads, 6);
  EXPECT_EQ(plan_cores(facts).reason, "SLURM_CPUS_PER_TASK");
  facts.omp_num_threads = 5;
  EXPECT_EQ(plan_cores(facts).threads, 5);
  EXPECT_EQ(plan_cores(facts).reason, "OMP_NUM_THREADS");
  facts.flag_threads = 3;
  EXPECT_EQ(plan_cores(facts).threads, 3);
  EXPECT_EQ(plan_cores(facts).reason, "--threads");
}

TEST(Cores, AnExplicitBindingWins) {
  CoreFacts facts = one_core_masks(8, 2, 1);
  facts.explicit_binding = "--bind-to core";
  const CorePlan plan = plan_cores(facts);
  EXPECT_EQ(plan.threads, 1);
  EXPECT_TRUE(plan.compute.empty());
  EXPECT_TRUE(plan.helpers.empty());
  EXPECT_NE(plan.placement.find("--bind-to core"), std::string::npos) << plan.placement;
}

TEST(Cores, AnExplicitlyUnboundRankComputesOnItsShareWithoutPinning) {
  CoreFacts facts = open_masks(8, 2, 1);
  facts.explicit_binding = "--bind-to none";
  EXPECT_EQ(plan_cores(facts).threads, 4);
  EXPECT_TRUE(plan_cores(facts).compute.empty());
}

TEST(Cores, AMaskOfItsOwnWithSeveralCoresIsKept) {
  CoreFacts facts = open_masks(8, 2, 1);
  facts.launch_masks = {cores(0, 2), cores(2, 6)};
  const CorePlan plan = plan_cores(facts);
  EXPECT_EQ(plan.threads, 4);
  EXPECT_TRUE(plan.compute.empty());
}

TEST(Cores, TheCpuQuotaLimitsTheShare) {
  CoreFacts facts = open_masks(16, 2, 0);
  facts.cpu_quota = 5;
  EXPECT_EQ(plan_cores(facts).threads, 2);
  EXPECT_NE(plan_cores(facts).reason.find("quota"), std::string::npos);
  facts.cpu_quota = 0.5;
  EXPECT_EQ(plan_cores(facts).threads, 1);
  facts.cpu_quota = 100;
  EXPECT_EQ(plan_cores(facts).threads, 8);
}

TEST(Cores, HelpersGetCoresOfTheirOwnWhereSomeAreLeft) {
  CoreFacts facts = one_core_masks(2, 1, 0);
  facts.flag_threads = 1;
  EXPECT_EQ(plan_cores(facts).compute, cores(0, 1));
  EXPECT_EQ(plan_cores(facts).helpers, cores(1, 2));
  // Seven cores for two ranks: three each, and the seventh for anybody's helpers.
  EXPECT_EQ(plan_cores(one_core_masks(7, 2, 0)).helpers, cores(6, 7));
  EXPECT_EQ(plan_cores(one_core_masks(7, 2, 1)).helpers, cores(6, 7));
  // None is left: they go where the rank computes, not onto another rank's cores.
  EXPECT_EQ(plan_cores(one_core_masks(2, 2, 1)).helpers, cores(1, 2));
}

TEST(Cores, MoreThreadsThanTheShareAreNotPinned) {
  CoreFacts facts = one_core_masks(4, 2, 1);
  facts.flag_threads = 3;
  EXPECT_EQ(plan_cores(facts).threads, 3);
  EXPECT_EQ(plan_cores(facts).compute, cores(0, 4));
}

TEST(Cores, WhereNothingIsKnownThereIsOneThread) {
  EXPECT_EQ(plan_cores(CoreFacts{}).threads, 1);
  EXPECT_TRUE(plan_cores(CoreFacts{}).compute.empty());
}

TEST(Cores, ListsAreWrittenAsRuns) {
  EXPECT_EQ(core_list_text({0, 1, 2, 3, 6, 8, 9}), "0-3,6,8-9");
  EXPECT_EQ(core_list_text({}), "none");
}

}  // namespace
}  // namespace trireme
