// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trireme {

enum class ScheduleKind { constant, cosine, step, linear };

/// The learning rate as a pure function of the step. Warm-up rises linearly from base/warmup_steps to base;
/// then cosine or linear falls to `final_fraction` of base at total_steps, step multiplies by `gamma` at each
/// milestone.
struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double base = 0.1;
  std::int64_t warmup_steps = 0, total_steps = 1;
  double final_fraction = 0;
  double gamma = 0.1;
  std::vector<std::int64_t> milestones = {};  ///< in steps, ascending

  /// `step` counts from 0; the rate used for the update that ends it.
  double learning_rate(std::int64_t step) const;
};

}  // namespace trireme
