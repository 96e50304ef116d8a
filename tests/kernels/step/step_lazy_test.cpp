// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/step/step.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::kernels {
namespace {

/// What the host passed is that of the call, however late the stream comes to it.
TEST(SetStepValues, KeepsTheValuesOfTheCall) {
  const test::WithSettings lazy([](auto& settings) { settings.lazy_streams = true; });
  test::DeviceArray<StepValues> first(1), second(1);
  StepValues values;
  values.step = (1LL << 40) + 3;
  set_step_values(first.data(), values, nullptr, nullptr);
  values.step = 5;
  set_step_values(second.data(), values, nullptr, nullptr);
  EXPECT_EQ(first.to_host()[0].step, (1LL << 40) + 3);
  EXPECT_EQ(second.to_host()[0].step, 5);
}

}  // namespace
}  // namespace trireme::kernels
