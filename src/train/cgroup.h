// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// The smallest CPU quota, in cores, of a process's cgroup and its ancestors; 0 if there is none. Knows
/// cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us over cpu.cfs_period_us). `membership` is the text of
/// /proc/self/cgroup, `root` is /sys/fs/cgroup.
double cgroup_cpu_quota(std::string_view membership, const std::string& root);

}  // namespace trireme
