// SPDX-License-Identifier: Apache-2.0
#include "src/train/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

class Cgroup : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  double quota(const std::string& membership) { return cgroup_cpu_quota(membership, folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(Cgroup, Version2TakesTheSmallestQuotaUpwards) {
  put("cpu.max", "max 100000");
  put("slurm/cpu.max", "400000 100000");
  put("slurm/job/cpu.max", "150000 100000");
  put("slurm/job/step/cpu.max", "max 100000");
  EXPECT_EQ(quota("0::/slurm/job/step\n"), 1.5);
  EXPECT_EQ(quota("0::/slurm\n"), 4);
  EXPECT_EQ(quota("0::/\n"), 0);
}

TEST_F(Cgroup, AContainerSeesItsQuotaAtTheRoot) {
  put("cpu.max", "200000 100000");
  EXPECT_EQ(quota("0::/\n"), 2);
  EXPECT_EQ(quota("0::/kubepods/only-the-host-has-this\n"), 2);
}

TEST_F(Cgroup, Version1ReadsQuotaOverPeriod) {
  put("cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "250000");
  put("cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000");
  put("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  put("cpu,cpuacct/cpu.cfs_period_us", "100000");
  const std::string membership = "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n";
  EXPECT_EQ(quota(membership), 2.5);
}

TEST_F(Cgroup, NoLimitAndNonsenseAreNoQuota) {
  EXPECT_EQ(quota("4:cpu:/\n0::/\n"), 0);
  EXPECT_EQ(quota(""), 0);
  EXPECT_EQ(quota("nonsense\n"), 0);
  put("cpu.max", "much more");
  EXPECT_EQ(quota("0::/\n"), 0);
}

}  // namespace
}  // namespace trireme
