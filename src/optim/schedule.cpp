// SPDX-License-Identifier: Apache-2.0
#include "src/optim/schedule.h"

#include <algorithm>
#include <numbers>

namespace trireme {
namespace {

/// cos(pi x) for x in [0, 1], from + - * / alone: a math library may round differently on another CPU of the
/// same run, and then the ranks' parameters would part. Taylor series of sin(pi (1/2 - x)), error below
/// 1e-15.
double cos_pi(double x) {
  const double angle = std::numbers::pi * (0.5 - x);
  double term = angle, sum = angle;
  for (int n = 1; n <= 11; ++n) {
    term *= -angle * angle / static_cast<double>(2 * n * (2 * n + 1));
    sum += term;
  }
  return std::max(sum, -1.0);  // rounding must not make a rate negative
}

}  // namespace

double LearningRateSchedule::learning_rate(std::int64_t step) const {
  if (step < warmup_steps) return base * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  // How far the fall from base to the final rate has gone, 0 to 1.
  const std::int64_t falling_steps = std::max<std::int64_t>(total_steps - warmup_steps, 1);
  const double progress =
      std::min(static_cast<double>(step - warmup_steps) / static_cast<double>(falling_steps), 1.0);
  const double final_rate = base * final_fraction;
  switch (kind) {
    case ScheduleKind::constant:
      return base;
    case ScheduleKind::linear:
      return base + (final_rate - base) * progress;
    case ScheduleKind::cosine:
      return final_rate + (base - final_rate) * 0.5 * (1 + cos_pi(progress));
    case ScheduleKind::step:
      break;
  }
  double rate = base;
  for (const std::int64_t milestone : milestones)
    if (step >= milestone) rate *= gamma;
  return rate;
}

}  // namespace trireme
