// SPDX-License-Identifier: Apache-2.0
#include "src/train/time_limit.h"

#include <algorithm>

#include "src/core/parse.h"

namespace trireme {

TimeLimit find_time_limit(double max_time_seconds, double grace_seconds, std::string_view job_end_time,
                          double now_since_1970) {
  constexpr double kLeast = 1;
  if (max_time_seconds > 0) return {std::max(kLeast, max_time_seconds - grace_seconds), "--max-time"};
  const auto end = parse_int(job_end_time);
  if (!end || *end <= 0) return {};
  const double left = static_cast<double>(*end) - now_since_1970 - grace_seconds;
  return {std::max(kLeast, left), "SLURM_JOB_END_TIME"};
}

}  // namespace trireme
