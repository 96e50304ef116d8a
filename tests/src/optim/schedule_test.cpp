// SPDX-License-Identifier: Apache-2.0
#include "src/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace trireme {
namespace {

TEST(LearningRate, WarmsUpLinearlyToBase) {
  for (const ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::step, ScheduleKind::linear}) {
    const LearningRateSchedule schedule{.kind = kind, .base = 0.8, .warmup_steps = 4, .total_steps = 20};
    EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 0.2);
    EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.4);
    EXPECT_DOUBLE_EQ(schedule.learning_rate(2), 0.6);
    EXPECT_DOUBLE_EQ(schedule.learning_rate(3), 0.8);
    EXPECT_DOUBLE_EQ(schedule.learning_rate(4), 0.8);
  }
}

TEST(LearningRate, ConstantStays) {
  const LearningRateSchedule schedule{.kind = ScheduleKind::constant, .base = 0.3, .total_steps = 5};
  for (const std::int64_t step : {0, 4, 5, 1000}) EXPECT_EQ(schedule.learning_rate(step), 0.3);
}

// import torch
// o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
// s = torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=10, eta_min=0.04)
// for i in range(11): print(f'{s.get_last_lr()[0]:.15g}'); o.step(); s.step()
TEST(LearningRate, CosineGivesTheNumbersOfPyTorch) {
  const LearningRateSchedule schedule{.base = 0.4, .total_steps = 10, .final_fraction = 0.1};
  const double expected[] = {
      0.4,  0.391190172933128, 0.365623058987491, 0.325801345412645,  0.275623058987491,
      0.22, 0.164376941012509, 0.114198654587355, 0.0743769410125095, 0.0488098270668724,
      0.04};
  for (std::int64_t step = 0; step <= 10; ++step)
    EXPECT_NEAR(schedule.learning_rate(step), expected[step], 1e-14) << "step " << step;
}

TEST(LearningRate, CosineFollowsItsClosedFormAfterWarmUpAndEndsAtTheFinalFraction) {
  const LearningRateSchedule schedule{
      .base = 0.1, .warmup_steps = 500, .total_steps = 90500, .final_fraction = 0.01};
  for (std::int64_t step = 500; step <= 90500; step += 97) {
    const double angle = std::numbers::pi * static_cast<double>(step - 500) / 90000;
    EXPECT_NEAR(schedule.learning_rate(step), 0.001 + 0.099 * (1 + std::cos(angle)) / 2, 1e-15);
  }
  EXPECT_NEAR(schedule.learning_rate(90500), 0.001, 1e-16);
  EXPECT_NEAR(schedule.learning_rate(100000), 0.001, 1e-16);
}

TEST(LearningRate, CosineToZeroIsNeverNegative) {
  const LearningRateSchedule schedule{.base = 1, .total_steps = 1000};
  for (std::int64_t step = 0; step < 2000; ++step) EXPECT_GE(schedule.learning_rate(step), 0);
}

TEST(LearningRate, LinearFallsToTheFinalFractionAndStays) {
  const LearningRateSchedule schedule{
      .kind = ScheduleKind::linear, .base = 1, .warmup_steps = 10, .total_steps = 20, .final_fraction = 0.5};
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(15), 0.75);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(19), 0.55);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(20), 0.5);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(99), 0.5);
}

// import torch
// o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
// s = torch.optim.lr_scheduler.MultiStepLR(o, milestones=[3, 6], gamma=0.1)
// for i in range(8): print(f'{s.get_last_lr()[0]:.15g}'); o.step(); s.step()
TEST(LearningRate, StepGivesTheNumbersOfPyTorch) {
  const LearningRateSchedule schedule{
      .kind = ScheduleKind::step, .base = 0.4, .total_steps = 8, .gamma = 0.1, .milestones = {3, 6}};
  const double expected[] = {0.4, 0.4, 0.4, 0.04, 0.04, 0.04, 0.004, 0.004};
  for (std::int64_t step = 0; step < 8; ++step)
    EXPECT_DOUBLE_EQ(schedule.learning_rate(step), expected[step]);
}

TEST(LearningRate, AWarmUpAsLongAsTheRunIsNoDivisionByZero) {
  const LearningRateSchedule schedule{.base = 1, .warmup_steps = 5, .total_steps = 5};
  EXPECT_DOUBLE_EQ(schedule.learning_rate(4), 1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(5), 1);
  EXPECT_NEAR(schedule.learning_rate(6), 0, 1e-15);
}

}  // namespace
}  // namespace trireme
