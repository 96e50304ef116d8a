// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one rank, whose communicator gives back what is sent; sums over several ranks are in
// narrow_wire_mpi_test.cpp.
#include "src/exchange/narrow_wire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "models/models.h"
#include "src/core/philox.h"
#include "tests/src/exchange/recording_communicator.h"
#include "tests/support/host_stream.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

using testing_support::HostStream;
using testing_support::RecordingCommunicator;
using testing_support::small_net;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float rounded(DType type, float value) {
  return type == DType::bf16 ? to_float(to_bfloat16(value)) : to_float(to_float16(value));
}

/// A wire of one rank and its flat gradients.
class Wire {
 public:
  Wire(Graph net, DType type, std::size_t bucket_bytes)
      : graph(std::move(net)),
        plan(graph, layout, bucket_bytes),
        packer(make_host_wire_packer(type)),
        wire(graph, layout, plan, type, communicator, gradients.data(), {packer.get(), &memory}) {}

  void step() {
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) wire.send(b, stream);
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
      wire.wait(b, stream);
      wire.unpack(b, stream);
    }
  }
  /// Calls visit(element, is_statistic) for every element of every entry.
  void for_each(const std::function<void(std::size_t, bool)>& visit) const {
    for (const FlatLayout::Entry& entry : layout.entries)
      for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
        visit(i, graph.parameter(entry.parameter).is_statistic());
  }
  /// Numbers of very different sizes.
  void draw_gradients(std::uint32_t step) {
    Philox random(3, 61, step, 0);
    for_each([&](std::size_t i, bool) {
      const float mantissa = static_cast<float>(random.next_below(1U << 24)) * 0x1p-23F - 1;
      gradients[i] = std::ldexp(mantissa, static_cast<int>(random.next_below(32)) - 26);
    });
  }

  const Graph graph;
  const FlatLayout layout{graph};
  const BucketPlan plan;
  std::vector<float> gradients = std::vector<float>(layout.elements);
  HostStream stream;
  RecordingCommunicator communicator;
  HostMemory memory;
  std::unique_ptr<WirePacker> packer;
  NarrowWire wire;
};

void expect_exact_rounding_and_residuals(Graph graph, DType type, std::size_t bucket_bytes) {
  Wire wire(std::move(graph), type, bucket_bytes);
  std::vector<float> owed(wire.layout.elements);
  for (std::uint32_t step = 0; step < 4; ++step) {
    wire.draw_gradients(step);
    std::vector<float> expected = wire.gradients;
    wire.for_each([&](std::size_t i, bool is_statistic) {
      if (is_statistic) return;
      const float value = wire.gradients[i] + owed[i];
      expected[i] = rounded(type, value);
      owed[i] = value - expected[i];
    });
    wire.step();
    ASSERT_EQ(wire.gradients, expected);
    ASSERT_TRUE(std::ranges::equal(wire.wire.residual(), owed));
  }
}

class NarrowWireOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, NarrowWireOfType, testing::Values(DType::bf16, DType::f16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(NarrowWireOfType, RoundsGradientAndResidualAndKeepsTheRest) {
  for (const std::size_t bucket_bytes : {std::size_t{256}, std::size_t{2048}, std::size_t{1} << 30})
    expect_exact_rounding_and_residuals(small_net(), GetParam(), bucket_bytes);
}

// The OpenMP library is not built for ThreadSanitizer, which therefore does not see that its threads have
// met.
#ifndef __SANITIZE_THREAD__
TEST_P(NarrowWireOfType, DoesSoInBucketsThatSeveralThreadsShare) {
  const Graph resnet = build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
  for (const std::size_t bucket_bytes : {std::size_t{100000}, std::size_t{1} << 30})
    expect_exact_rounding_and_residuals(resnet, GetParam(), bucket_bytes);
}
#endif

TEST_P(NarrowWireOfType, StatisticsTravelAsFp32OfTheirOwnAndNothingTravelsTwice) {
  Wire wire(small_net(), GetParam(), 2048);
  wire.draw_gradients(0);
  wire.step();
  std::int64_t narrow = 0, exempt = 0;
  for (const RecordingCommunicator::Sent& sent : wire.communicator.sent) {
    EXPECT_TRUE(sent.tensor.dtype == GetParam() || sent.tensor.dtype == DType::f32);
    (sent.tensor.dtype == DType::f32 ? exempt : narrow) += sent.tensor.count();
  }
  EXPECT_EQ(exempt, 128);  // mean and variance of seven channels, each with its gap
  EXPECT_EQ(narrow + exempt, static_cast<std::int64_t>(wire.layout.elements));
  EXPECT_EQ(wire.communicator.allocated, narrow_wire_bytes(wire.graph, wire.layout));
}

TEST_P(NarrowWireOfType, MessagesNameBucketAndStatistics) {
  Wire wire(small_net(), GetParam(), std::size_t{1} << 30);
  wire.step();
  ASSERT_EQ(wire.communicator.sent.size(), 2U);
  EXPECT_EQ(wire.communicator.sent[0].what, "bucket 0 (fc.weight .. conv1.bias)");
  EXPECT_EQ(wire.communicator.sent[1].what, "bucket 0 (fc.weight .. conv1.bias), its statistics");
}

TEST_P(NarrowWireOfType, WhatWasSentAndWhatIsOwedAddUpToAllGradients) {
  // Multiples of 2^-16 below 1: every sum on the way is exact in fp32, so nothing but the rounding is tested.
  Wire wire(small_net(), GetParam(), 2048);
  std::vector<double> made(wire.layout.elements), sent(wire.layout.elements);
  Philox random(4, 61, 0, 0);
  for (int step = 0; step < 300; ++step) {
    wire.for_each([&](std::size_t i, bool) {
      wire.gradients[i] = (static_cast<float>(random.next_below(1U << 17)) - 0x1p16F) * 0x1p-16F;
      made[i] += static_cast<double>(wire.gradients[i]);
    });
    wire.step();
    wire.for_each([&](std::size_t i, bool) { sent[i] += static_cast<double>(wire.gradients[i]); });
  }
  wire.for_each([&](std::size_t i, bool) {
    const double owed = wire.wire.residual()[i];
    EXPECT_EQ(sent[i] + owed, made[i]);
    EXPECT_LE(std::abs(owed), 0x1p-8);  // one rounding
  });
}

/// The sum of `steps` sent values of a gradient that is +1 and -1 in turn plus a small constant.
double sum_of_small_and_large(DType type, bool feedback, int steps, float small) {
  Wire wire(small_net(), type, 2048);
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    std::ranges::fill(wire.gradients, 0.0F);
    wire.gradients[200] = (step % 2 == 0 ? 1.0F : -1.0F) + small;
    if (!feedback) std::ranges::fill(wire.wire.residual(), 0.0F);
    wire.step();
    sum += static_cast<double>(wire.gradients[200]);
  }
  return sum;
}

TEST_P(NarrowWireOfType, ASmallConstantBesideLargeGradientsGetsThroughWithFeedbackOnly) {
  constexpr float kSmall = 0x1p-14F;
  EXPECT_NEAR(sum_of_small_and_large(GetParam(), true, 4096, kSmall), 0.25, 0x1p-8);
  EXPECT_EQ(sum_of_small_and_large(GetParam(), false, 4096, kSmall), 0);
}

TEST_P(NarrowWireOfType, ValuesWithoutAFiniteRoundingAreInfiniteOnceAndLeaveNoResidual) {
  const float too_large = GetParam() == DType::f16 ? 65520.0F : std::numeric_limits<float>::max();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Wire wire(small_net(), GetParam(), 2048);
  const std::vector<std::pair<std::size_t, float>> bad = {
      {0, too_large}, {1, -too_large}, {130, kInfinity}, {700, nan}};
  for (const auto& [i, value] : bad) wire.gradients[i] = value;
  wire.gradients[2] = 1 + 0x1p-14F;
  wire.step();
  EXPECT_EQ(wire.gradients[0], kInfinity);
  EXPECT_EQ(wire.gradients[1], -kInfinity);
  EXPECT_EQ(wire.gradients[130], kInfinity);
  EXPECT_TRUE(std::isnan(wire.gradients[700]));
  for (const auto& [i, value] : bad) EXPECT_EQ(wire.wire.residual()[i], 0);
  EXPECT_EQ(wire.wire.residual()[2], 0x1p-14F);  // of its neighbours nothing is lost
  std::ranges::fill(wire.gradients, 0.5F);
  wire.step();
  for (const auto& [i, value] : bad) EXPECT_EQ(wire.gradients[i], 0.5F);
}

TEST(NarrowWire, Fp16CarriesTheLargestFiniteValue) {
  Wire wire(small_net(), DType::f16, 2048);
  wire.gradients[0] = 65519.0F;
  wire.step();
  EXPECT_EQ(wire.gradients[0], 65504.0F);
  EXPECT_EQ(wire.wire.residual()[0], 15.0F);
}

TEST(NarrowWire, IsChosenByName) {
  EXPECT_EQ(wire_type("fp32"), DType::f32);
  EXPECT_EQ(wire_type("bf16"), DType::bf16);
  EXPECT_EQ(wire_type("fp16"), DType::f16);
}

}  // namespace
}  // namespace trireme
