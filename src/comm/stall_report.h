// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/comm/progress_record.h"

namespace trireme {

/// Who keeps the others waiting for collective `number`, a line per rank, first the few that are furthest
/// behind: ranks that are silent, and ranks that run and have not submitted it (late). Where there are none
/// it says so. Nothing where the board knows nothing.
///
///     rank 2 on node7 is late: last heard of 0.2 s ago, in backward of step 41, after layer2.0.conv1.weight;
///     its last collective was allreduce of bucket 3 (...)
std::string late_ranks_text(const ProgressBoard& board, std::uint64_t number,
                            ProgressBoard::Time now = Deadline::Clock::now());

}  // namespace trireme
