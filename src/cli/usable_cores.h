// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trireme {

struct UsableCores {
  int by_affinity = 1;  ///< logical CPUs that this process may run on
  double by_quota = 0;  ///< CPU time that the cgroup allows, in cores; 0: no limit

  /// Threads that make sense: at least 1.
  int threads() const;
};
UsableCores read_usable_cores();

}  // namespace trireme
