// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/device/cuda/conv2d_cudnn_measure.h"
#include "tests/kernels/conv2d/conv2d_problem.h"
#include "tests/src/device/cuda/cudnn_fake.h"

namespace trireme {
namespace {

EngineMeasurement convolution(std::int64_t in, const ConvolutionUse& use = {}) {
  return {Precision::bf16, test::shape_of<simt::BFloat16>(test::square(2, 6, in, 16, 3, 1, 1)), use, 4};
}

/// Runs what it is given and says the numbers of a list, one after the other.
LaunchTimer scripted(std::vector<double> seconds, int& asked) {
  return [seconds = std::move(seconds), &asked](const std::function<void()>& launch) {
    launch();
    return seconds.at(static_cast<std::size_t>(asked++));
  };
}

class MeasureEngines : public ::testing::Test {
 protected:
  const CudnnHandle cudnn_{test::fake_cudnn(), nullptr};
  EngineChoices choices_;
  int asked_ = 0;
};

TEST_F(MeasureEngines, TheFasterOneOfEachPassIsChosenOnce) {
  const EngineMeasurement one = convolution(8, {true, true, false, true});
  const LaunchTimer timer = scripted({2, 1, 1, 2, 3, 2.5}, asked_);
  measure_engines(choices_, one, cudnn_, timer);
  EXPECT_EQ(choices_.text(), "bf16/2x6x6x8/16/3x3/1x1/1x1/bn/bias/relu-input=cudnn,native,cudnn");
  measure_engines(choices_, one, cudnn_, timer);
  EXPECT_EQ(asked_, 6);
}

TEST_F(MeasureEngines, ChoicesOfAnEarlierRunHold) {
  choices_ = EngineChoices::parse("bf16/2x6x6x8/16/3x3/1x1/1x1=native,-,native");
  measure_engines(choices_, convolution(8), cudnn_, scripted({2, 1}, asked_));
  EXPECT_EQ(choices_.text(), "bf16/2x6x6x8/16/3x3/1x1/1x1=native,cudnn,native");
}

TEST_F(MeasureEngines, WhatCudnnCannotDoIsNative) {
  measure_engines(choices_, convolution(3), cudnn_, scripted({}, asked_));
  EXPECT_EQ(choices_.text(), "bf16/2x6x6x3/16/3x3/1x1/1x1=native,native,native");
  const CudnnHandle random(test::fake_cudnn_of_random_gradients(), nullptr);
  measure_engines(choices_, convolution(16), random, scripted({2, 1}, asked_));
  EXPECT_EQ(choices_.find("bf16/2x6x6x16/16/3x3/1x1/1x1", ConvolutionPass::forward), Engine::cudnn);
  EXPECT_EQ(choices_.find("bf16/2x6x6x16/16/3x3/1x1/1x1", ConvolutionPass::backward_data), Engine::native);
}

TEST_F(MeasureEngines, APassThatCudnnRefusesAfterAllIsNative) {
  const LaunchTimer refusing = [&](const std::function<void()>& launch) {
    if (asked_++ == 1) throw make_error(Status::peer_gone, "cuDNN does not support it");
    launch();
    return 1.0 / asked_;  // each later one is faster
  };
  measure_engines(choices_, convolution(8), cudnn_, refusing);
  EXPECT_EQ(choices_.text(), "bf16/2x6x6x8/16/3x3/1x1/1x1=native,cudnn,cudnn");
}

TEST_F(MeasureEngines, WhereMemoryIsShortTheChoiceIsNative) {
  // The packed weights alone are more than the emulator has.
  const EngineMeasurement large{
      Precision::bf16, test::shape_of<simt::BFloat16>(test::square(1, 3, 32768, 32768, 3, 1, 1)), {}, 4};
  measure_engines(choices_, large, cudnn_, scripted({}, asked_));
  EXPECT_EQ(choices_.text(), "bf16/1x3x3x32768/32768/3x3/1x1/1x1=native,native,native");
}

TEST_F(MeasureEngines, EventsTellTime) {
  int launched = 0;
  const double seconds = event_timer(nullptr)([&] { ++launched; });
  EXPECT_GT(launched, 1);
  EXPECT_GE(seconds, 0);
}

}  // namespace
}  // namespace trireme
