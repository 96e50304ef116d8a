// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

/// Replaces {seed}, {jobid} (SLURM_JOB_ID) and {index} (SLURM_ARRAY_TASK_ID) in the name of a run's folder.
/// Status 78 for another name in braces, and for a variable that the environment lacks.
std::string expand_output_name(std::string_view name, std::uint64_t seed, const char* const* environment);

}  // namespace trireme
