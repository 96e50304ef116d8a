// SPDX-License-Identifier: Apache-2.0
// What the two plans of batch norm share: the ordinary one (batch_norm.cpp) and the one whose statistics are
// of all ranks together (sync_batch_norm.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {

enum BatchNormParameter : std::size_t { kScale, kShift, kRunningMean, kRunningVar };

/// gradient (+)= factor * value
void store_statistic(float* gradient, const float* value, double factor, std::int64_t count, bool accumulate);

/// The training plan of an op with `sync`.
std::unique_ptr<OpPlan> make_sync_batch_norm_plan(const CpuEngine& engine, const OpRequest& request,
                                                  const BatchNormOp& op);

}  // namespace trireme::cpu
