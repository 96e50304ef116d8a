// SPDX-License-Identifier: Apache-2.0
#include "kernels/step/step.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/support/device_array.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

StepValues some_values() {
  StepValues values;
  values.seed = 0xFEDCBA9876543210;
  values.step = (1LL << 40) + 3;
  values.valid_samples = 255;
  values.epoch = 0xFFFFFFFE;
  values.learning_rate = 0.1F;
  values.gradient_scale = 1.0F / 256;
  values.share_weight = 0.75F;
  values.loss_scale = 3;
  values.inverse_loss_scale = 0.25F;
  return values;
}

/// Byte by byte: a member that is forgotten keeps the 0xFF of fresh memory.
void expect_same(const StepValues& actual, const StepValues& expected) {
  static_assert(sizeof(StepValues) == 48 && offsetof(StepValues, inverse_loss_scale) == 44,
                "a new member belongs into set_step_values");
  EXPECT_EQ(std::memcmp(&actual, &expected, sizeof actual), 0);
}

TEST(SetStepValues, WritesEveryMember) {
  DeviceArray<StepValues> step(1);
  set_step_values(step.data(), some_values(), nullptr, nullptr);
  expect_same(step.to_host()[0], some_values());
}

TEST(SetStepValues, TakesTheScaleOfTheDevice) {
  DeviceArray<StepValues> step(1);
  const DeviceArray<LossScaleState> scale(std::vector{LossScaleState{65536, 7, 2}});
  set_step_values(step.data(), some_values(), scale.data(), nullptr);
  StepValues expected = some_values();
  expected.loss_scale = 65536;
  expected.inverse_loss_scale = 1.0F / 65536;
  expect_same(step.to_host()[0], expected);
}

/// The state after each of `steps` steps; '1' is a step that is not finite.
std::vector<LossScaleState> states_of(LossScaleState state, const std::string& steps,
                                      const LossScaleOptions& options) {
  DeviceArray<LossScaleState> device(std::vector{state});
  std::vector<LossScaleState> states;
  for (const char step : steps) {
    const DeviceArray<std::int32_t> not_finite(std::vector<std::int32_t>{step == '1' ? 1 : 0});
    update_loss_scale(device.data(), not_finite.data(), options, nullptr);
    states.push_back(device.to_host()[0]);
  }
  return states;
}

void expect_state(const LossScaleState& actual, float scale, std::int32_t good, std::int64_t skipped) {
  EXPECT_EQ(actual.scale, scale);
  EXPECT_EQ(actual.good_steps, good);
  EXPECT_EQ(actual.skipped, skipped);
}

TEST(UpdateLossScale, FallsAtOnceAndGrowsAfterTheInterval) {
  LossScaleOptions options;
  options.growth_interval = 3;
  const auto states = states_of({1024, 1, (1LL << 32)}, "01000010", options);
  expect_state(states[0], 1024, 2, (1LL << 32));
  expect_state(states[1], 512, 0, (1LL << 32) + 1);
  expect_state(states[3], 512, 2, (1LL << 32) + 1);
  expect_state(states[4], 1024, 0, (1LL << 32) + 1);
  expect_state(states[6], 512, 0, (1LL << 32) + 2);
  expect_state(states[7], 512, 1, (1LL << 32) + 2);
}

TEST(UpdateLossScale, GrowsAtTheDefaultInterval) {
  expect_state(states_of({65536, 1998, 0}, "0", {}).back(), 65536, 1999, 0);
  expect_state(states_of({65536, 1999, 0}, "0", {}).back(), 131072, 0, 0);
}

TEST(UpdateLossScale, StaysWithinItsBounds) {
  LossScaleOptions options;
  options.growth_interval = 1;
  expect_state(states_of({1 << 23, 0, 0}, "000", options).back(), 1 << 24, 0, 0);
  expect_state(states_of({2, 0, 0}, "111", options).back(), 1, 0, 3);
  options.largest = 3.0e38F;  // the next power of two is not finite
  expect_state(states_of({1.7e38F, 0, 0}, "00", options).back(), 3.0e38F, 0, 0);
}

TEST(UpdateLossScale, RefusesOptionsThatCannotWork) {
  const auto refused = [](auto change) {
    LossScaleOptions options;
    change(options);
    EXPECT_THROW(update_loss_scale(nullptr, nullptr, options, nullptr), std::invalid_argument);
  };
  refused([](LossScaleOptions& options) { options.growth = 0.5F; });
  refused([](LossScaleOptions& options) { options.backoff = 0; });
  refused([](LossScaleOptions& options) { options.growth_interval = 0; });
  refused([](LossScaleOptions& options) { options.smallest = 2 * options.largest; });
}

}  // namespace
}  // namespace trireme::kernels
