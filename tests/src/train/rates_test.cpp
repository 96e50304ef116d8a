// SPDX-License-Identifier: Apache-2.0
#include "src/train/rates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme {
namespace {

TEST(Rates, DifferenceIsAStretchOfTheRun) {
  const Rates early{10, 1, 2, 1.5, 1000, 100}, late{30, 2, 6, 4.5, 5000, 300};
  const Rates stretch = late - early;
  EXPECT_DOUBLE_EQ(stretch.images_per_second(), 200);
  EXPECT_DOUBLE_EQ(stretch.data_wait_share(), 0.05);
  EXPECT_DOUBLE_EQ(stretch.comm_wait_share(), 0.2);
  EXPECT_DOUBLE_EQ(stretch.exchange_wait, 3);
  EXPECT_EQ(stretch.steps, 200);
}

TEST(Rates, HiddenShareIsWhatTheRankDidNotWaitForOfAnExchangeAlone) {
  Rates rates;
  rates.steps = 10;
  rates.exchange_wait = 1;
  EXPECT_DOUBLE_EQ(rates.comm_hidden_share(0.5), 0.8);  // 10 exchanges of 0.5 s, 1 s of 5 s in the open
  EXPECT_DOUBLE_EQ(rates.comm_hidden_share(0.05), 0);   // a late rank is waited for, too
  rates.exchange_wait = 0;
  EXPECT_DOUBLE_EQ(rates.comm_hidden_share(0.5), 1);
}

TEST(Rates, WithoutExchangeThereIsNoHiddenShare) {
  Rates rates;
  EXPECT_TRUE(std::isnan(rates.comm_hidden_share(0.5)));
  rates.steps = 10;
  EXPECT_TRUE(std::isnan(rates.comm_hidden_share(0)));
}

}  // namespace
}  // namespace trireme
