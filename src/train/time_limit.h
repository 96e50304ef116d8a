// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// When a run stops by itself.
struct TimeLimit {
  double seconds = 0;      ///< from now; 0: no limit
  std::string decided_by;  ///< "--max-time", "SLURM_JOB_END_TIME"
};

/// `max_time_seconds` if given; else what is left until `job_end_time` (seconds since 1970, as Slurm's
/// SLURM_JOB_END_TIME; empty: no scheduler); either less the grace, at least one second. Else no limit.
TimeLimit find_time_limit(double max_time_seconds, double grace_seconds, std::string_view job_end_time,
                          double now_since_1970);

}  // namespace trireme
