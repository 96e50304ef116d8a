// SPDX-License-Identifier: Apache-2.0
#include "src/cli/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "src/train/cgroup.h"

namespace trireme {

int UsableCores::threads() const {
  const int quota = by_quota > 0 ? static_cast<int>(std::ceil(by_quota)) : by_affinity;
  return std::max(1, std::min(by_affinity, quota));
}

UsableCores read_usable_cores() {
  UsableCores cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cores.by_affinity = CPU_COUNT(&mask);
  std::ifstream membership("/proc/self/cgroup");
  const std::string text{std::istreambuf_iterator<char>(membership), {}};
  cores.by_quota = cgroup_cpu_quota(text, "/sys/fs/cgroup");
  return cores;
}

}  // namespace trireme
