// SPDX-License-Identifier: Apache-2.0
#include "src/comm/activity.h"

#include <gtest/gtest.h>

#include <thread>

namespace trireme {
namespace {

TEST(Activity, SaysStepAndLayer) {
  Activity activity;
  activity.name_layers({"fc.weight", "conv1.weight"});
  EXPECT_EQ(activity.now().doing, Doing::starting);
  EXPECT_EQ(activity.now().layer, "");
  activity.set(Doing::forward, 40);
  activity.set(Doing::backward);
  activity.announce(1);
  const ActivityNow now = activity.now();
  EXPECT_EQ(now.doing, Doing::backward);
  EXPECT_EQ(now.step, 40);
  EXPECT_EQ(now.layer, "conv1.weight");
}

TEST(Activity, AScopeGoesBackToWhatWasBefore) {
  Activity activity;
  activity.set(Doing::training, 7);
  {
    const ActivityScope scope(activity, Doing::saving);
    EXPECT_EQ(activity.now().doing, Doing::saving);
    EXPECT_EQ(activity.now().step, 7);
  }
  EXPECT_EQ(activity.now().doing, Doing::training);
}

TEST(Activity, TextsCountStepsFromOneAndNameTheLastOneBetweenSteps) {
  EXPECT_EQ(text_of(Doing::starting, 0), "in start-up");
  EXPECT_EQ(text_of(Doing::backward, 40), "in backward of step 41");
  EXPECT_EQ(text_of(Doing::waiting_for_data, 0), "waiting for data of step 1");
  EXPECT_EQ(text_of(Doing::saving, 40), "saving after step 40");
  EXPECT_EQ(text_of(Doing::ending, 40), "ending after step 40");
  EXPECT_EQ(text_of(static_cast<Doing>(200), 1), "in something unknown");
}

TEST(Activity, StepAndDoingAreReadTogether) {
  Activity activity;
  std::thread writer([&] {
    for (std::int64_t step = 0; step < 20000; ++step)
      activity.set(step % 2 == 0 ? Doing::forward : Doing::backward, step);
  });
  for (std::int64_t step = 0; step < 19999;) {
    const ActivityNow now = activity.now();
    if (now.doing != Doing::starting) {
      ASSERT_EQ(now.doing, now.step % 2 == 0 ? Doing::forward : Doing::backward);
    }
    step = now.step;
  }
  writer.join();
}

}  // namespace
}  // namespace trireme
