// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/device/cuda/engine_choice.h"

namespace trireme {
namespace {

constexpr kernels::Conv2dShape kShape{256, 56, 55, 64, 64, 128, 128, 3, 1, 2, 1, 1, 0};

TEST(EngineChoices, KeysTellConvolutionsApart) {
  EXPECT_EQ(convolution_key(Precision::bf16, kShape, {}), "bf16/256x56x55x64/128/3x1/2x1/1x0");
  EXPECT_EQ(convolution_key(Precision::fp32, kShape, {true, false, false, true}),
            "fp32/256x56x55x64/128/3x1/2x1/1x0/bn/relu-input");
  EXPECT_EQ(convolution_key(Precision::tf32, kShape, {false, true, true, false}),
            "tf32/256x56x55x64/128/3x1/2x1/1x0/bias/relu");
}

TEST(EngineChoices, ComeBackFromTheirText) {
  EngineChoices choices;
  EXPECT_EQ(choices.text(), "");
  EXPECT_TRUE(EngineChoices::parse("").empty());
  choices.set("b", ConvolutionPass::backward_data, Engine::cudnn);
  choices.set("a", ConvolutionPass::forward, Engine::native);
  choices.set("a", ConvolutionPass::backward_weights, Engine::cudnn);
  EXPECT_EQ(choices.text(), "a=native,-,cudnn;b=-,cudnn,-");
  const EngineChoices again = EngineChoices::parse(choices.text());
  EXPECT_EQ(again, choices);
  EXPECT_EQ(again.find("b", ConvolutionPass::backward_data), Engine::cudnn);
  EXPECT_EQ(again.find("a", ConvolutionPass::backward_data), std::nullopt);
  EXPECT_EQ(again.find("c", ConvolutionPass::forward), std::nullopt);
}

TEST(EngineChoices, WhatIsNoTableIsRefused) {
  for (const char* text : {"a", "a=native,cudnn", "a=native,cudnn,auto", "=native,native,native", ";",
                           "a=native,native,native;a=native,native,native"}) {
    try {
      EngineChoices::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::configuration) << text;
    }
  }
}

}  // namespace
}  // namespace trireme
