// SPDX-License-Identifier: Apache-2.0
// Loss and gradient against the float64 reference, for every element type and every strategy (a warp or a
// block for a row; the row in registers, in shared memory, or read again).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/reference/softmax_cross_entropy.h"
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"
#include "src/device/op.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

static_assert(sizeof(LossRecord) == sizeof(StepRecord));
static_assert(offsetof(LossRecord, loss_sum) == offsetof(StepRecord, loss_sum));
static_assert(offsetof(LossRecord, loss_fixed) == offsetof(StepRecord, loss_fixed));
static_assert(offsetof(LossRecord, samples) == offsetof(StepRecord, samples));
static_assert(offsetof(LossRecord, top1) == offsetof(StepRecord, top1));
static_assert(offsetof(LossRecord, top5) == offsetof(StepRecord, top5));

struct Case {
  int batch = 1, classes = 1;
  int extra_pitch = 0;  ///< elements beyond the smallest pitch
  std::int64_t valid = 1 << 20;
  float smoothing = 0;
  bool weighted = false;
  float spread = 8;  ///< logits lie between -spread and spread
};

template <typename T>
struct Outcome {
  std::vector<float> losses;
  std::vector<T> gradient;  ///< with pitch
  LossRecord record;
};

/// What one call gives on `logits` (dense); gradient_scale 1/8, loss_scale 4.
template <typename T>
Outcome<T> run(const Case& c, const std::vector<float>& logits, const std::vector<std::int32_t>& labels,
               const std::vector<float>& weights, bool with_gradient, LossRecord before = {}) {
  const int pitch = static_cast<int>(test::pitch_of<T>(c.classes)) + c.extra_pitch;
  const DeviceArray<T> z(test::with_pitch<T>(logits, c.classes, pitch));
  const DeviceArray<std::int32_t> l(labels);
  const DeviceArray<float> w(weights);
  const DeviceArray<StepValues> step(
      std::vector{StepValues{.valid_samples = c.valid, .gradient_scale = 0.125F, .loss_scale = 4}});
  DeviceArray<float> losses(labels.size());
  DeviceArray<T> gradient(z.size());
  DeviceArray<LossRecord> record(std::vector<LossRecord>{before});
  DeviceArray<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(c.batch));
  softmax_cross_entropy<T>({c.batch, c.classes, pitch}, c.smoothing,
                           {z.data(), l.data(), c.weighted ? w.data() : nullptr, step.data(), losses.data(),
                            with_gradient ? gradient.data() : nullptr, record.data(), workspace.data()},
                           nullptr);
  return {losses.to_host(), gradient.to_host(), record.to_host()[0]};
}

std::vector<std::int32_t> random_labels(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(c.batch));
  for (auto& label : labels) label = static_cast<std::int32_t>(random() % static_cast<unsigned>(c.classes));
  return labels;
}

// fp32 arithmetic on exact inputs: exp() and log() err by 2 ulp, a sum over C classes in a tree of partial
// sums by a few more, relative to the largest term. Rounding to T adds 2^-9 (BFloat16) or 2^-12 (Half) of the
// gradient, and half a step of Half's subnormals, 2^-25.
template <typename T>
double tolerance(double reference, double scale) {
  const double rounding = std::is_same_v<T, BFloat16> ? 0x1p-8 : std::is_same_v<T, Half> ? 0x1p-11 : 0;
  return (rounding + 2e-6) * std::abs(reference) + 1e-6 * scale + (std::is_same_v<T, Half> ? 0x1p-25 : 0);
}

template <typename T>
void expect_reference(const Case& c, unsigned seed = 3) {
  SCOPED_TRACE(testing::Message() << c.batch << " x " << c.classes << " smoothing " << c.smoothing
                                  << " weighted " << c.weighted << " pitch +" << c.extra_pitch);
  auto logits = test::random_rows<T>(c.batch, c.classes, seed);
  for (float& value : logits) value = to_float(from_float<T>(value * c.spread));
  const auto labels = random_labels(c, seed);
  auto weights = test::random_rows<float>(1, c.classes, seed + 1);
  for (float& value : weights) value = 1.25F + value;
  const auto outcome = run<T>(c, logits, labels, weights, true);

  const std::vector<double> z(logits.begin(), logits.end()), w(weights.begin(), weights.end());
  const reference::SoftmaxCrossEntropyShape shape{
      c.batch, c.classes, c.valid, static_cast<double>(c.smoothing), c.weighted ? w.data() : nullptr};
  std::vector<double> losses(labels.size()), gradient(z.size());
  reference::softmax_cross_entropy_forward(losses.data(), z.data(), labels.data(), shape);
  reference::softmax_cross_entropy_backward(gradient.data(), z.data(), labels.data(), 0.5, shape);

  std::int64_t fixed = 0, top1 = 0, top5 = 0, samples = 0;
  double loss_sum = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    EXPECT_NEAR(outcome.losses[n], losses[n],
                3e-6 * (1 + std::abs(losses[n]) + static_cast<double>(c.spread)));
    if (static_cast<std::int64_t>(n) >= c.valid) continue;
    loss_sum += static_cast<double>(outcome.losses[n]);
    fixed += std::llrint(static_cast<double>(outcome.losses[n]) * 0x1p24);
    ++samples;
    const double* const row = z.data() + n * static_cast<std::size_t>(c.classes);
    top1 += reference::is_in_top(row, c.classes, labels[n], 1) ? 1 : 0;
    top5 += reference::is_in_top(row, c.classes, labels[n], 5) ? 1 : 0;
  }
  EXPECT_NEAR(outcome.record.loss_sum, loss_sum, 1e-12 * (1 + std::abs(loss_sum)));
  EXPECT_EQ(outcome.record.loss_fixed, fixed);
  EXPECT_EQ(outcome.record.samples, samples);
  EXPECT_EQ(outcome.record.top1, top1);
  EXPECT_EQ(outcome.record.top5, top5);

  bool pad_is_zero = true;
  const std::int64_t pitch = test::pitch_of<T>(c.classes) + c.extra_pitch;
  const auto dense = test::without_pitch(outcome.gradient, c.classes, pitch, pad_is_zero);
  EXPECT_TRUE(pad_is_zero);
  for (std::size_t i = 0; i < dense.size(); ++i)
    ASSERT_NEAR(dense[i], gradient[i], tolerance<T>(gradient[i], 0.5)) << "element " << i;
}

template <typename T>
class SoftmaxCrossEntropy : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(SoftmaxCrossEntropy, Types);

TYPED_TEST(SoftmaxCrossEntropy, OneRowOfOneClass) {
  expect_reference<TypeParam>({.batch = 1, .classes = 1});
  expect_reference<TypeParam>({.batch = 1, .classes = 1, .smoothing = 0.1F, .weighted = true});
}

TYPED_TEST(SoftmaxCrossEntropy, FewClasses) {
  for (const float smoothing : {0.0F, 0.1F})
    for (const bool weighted : {false, true}) {
      expect_reference<TypeParam>({.batch = 7, .classes = 10, .smoothing = smoothing, .weighted = weighted});
      expect_reference<TypeParam>(
          {.batch = 5, .classes = 3, .extra_pitch = 16, .smoothing = smoothing, .weighted = weighted});
    }
}

TYPED_TEST(SoftmaxCrossEntropy, WidthsAroundThoseOfTheStrategies) {
  for (const int classes : {127, 128, 129, 255, 257, 1023, 1024, 1025, 1037})
    expect_reference<TypeParam>(
        {.batch = 2, .classes = classes, .smoothing = 0.1F, .weighted = classes % 2 == 0});
}

TYPED_TEST(SoftmaxCrossEntropy, PaddingRowsHaveNeitherLossNorGradient) {
  expect_reference<TypeParam>({.batch = 6, .classes = 10, .valid = 4, .smoothing = 0.1F});
  expect_reference<TypeParam>({.batch = 3, .classes = 1500, .valid = 1});
  expect_reference<TypeParam>({.batch = 3, .classes = 10, .valid = 0});
}

TYPED_TEST(SoftmaxCrossEntropy, ThousandsOfClassesInSharedMemory) {
  expect_reference<TypeParam>({.batch = 1, .classes = 21841, .smoothing = 0.1F, .weighted = true});
}

TYPED_TEST(SoftmaxCrossEntropy, MoreClassesThanSharedMemoryHolds) {
  expect_reference<TypeParam>({.batch = 1, .classes = 49200, .smoothing = 0.1F});
}

TYPED_TEST(SoftmaxCrossEntropy, AddsToTheRecord) {
  const Case c{.batch = 3, .classes = 4};
  const auto logits = test::random_rows<TypeParam>(3, 4, 1);
  const auto once = run<TypeParam>(c, logits, {0, 1, 2}, {}, false).record;
  const auto twice = run<TypeParam>(c, logits, {0, 1, 2}, {}, false, once).record;
  EXPECT_DOUBLE_EQ(twice.loss_sum, 2 * once.loss_sum);
  EXPECT_EQ(twice.loss_fixed, 2 * once.loss_fixed);
  EXPECT_EQ(twice.samples, 6);
  EXPECT_EQ(twice.top1, 2 * once.top1);
  EXPECT_EQ(twice.top5, 6);
}

TYPED_TEST(SoftmaxCrossEntropy, InferenceGivesTheSameLossAndWritesNoGradient) {
  const Case c{.batch = 3, .classes = 37};
  const auto logits = test::random_rows<TypeParam>(3, 37, 1);
  const auto with = run<TypeParam>(c, logits, {0, 36, 2}, {}, true),
             without = run<TypeParam>(c, logits, {0, 36, 2}, {}, false);
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_TRUE(std::isnan(to_float(without.gradient[0])));  // as cudaMalloc left it
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

TYPED_TEST(SoftmaxCrossEntropy, HugeLogitsGiveFiniteGradients) {
  const float huge = std::is_same_v<TypeParam, Half> ? 60000.0F : 0x1p100F;
  const auto outcome =
      run<TypeParam>({.batch = 2, .classes = 3}, {huge, 0, -huge, huge, huge, 0}, {0, 0}, {}, true);
  EXPECT_EQ(outcome.losses[0], 0);
  EXPECT_NEAR(outcome.losses[1], std::log(2.0), 1e-6);
  EXPECT_EQ(to_float(outcome.gradient[0]), 0);
  const auto second = static_cast<std::size_t>(test::pitch_of<TypeParam>(3));
  EXPECT_EQ(to_float(outcome.gradient[second]), -0.25F);
  EXPECT_EQ(to_float(outcome.gradient[second + 1]), 0.25F);
}

TYPED_TEST(SoftmaxCrossEntropy, MinusInfinityIsAClassThatCannotBe) {
  const auto outcome =
      run<TypeParam>({.batch = 2, .classes = 3}, {0, -kInfinity, 0, 0, -kInfinity, 0}, {0, 1}, {}, true);
  EXPECT_NEAR(outcome.losses[0], std::log(2.0), 1e-6);
  EXPECT_EQ(to_float(outcome.gradient[1]), 0);
  EXPECT_EQ(outcome.losses[1], kInfinity);
  EXPECT_EQ(outcome.record.loss_fixed,
            std::llrint(static_cast<double>(outcome.losses[0]) * 0x1p24) + (1LL << 40));
}

TYPED_TEST(SoftmaxCrossEntropy, ARowWithNanIsNeverCorrect) {
  for (const int classes : {3, 4, 1500}) {
    std::vector<float> logits(static_cast<std::size_t>(2 * classes), 0.0F);
    logits[0] = 1;
    logits[static_cast<std::size_t>(classes)] = 1;
    logits.back() = kNan;
    const auto outcome = run<TypeParam>({.batch = 2, .classes = classes}, logits, {0, 0}, {}, true);
    EXPECT_EQ(outcome.record.top1, 1);
    EXPECT_EQ(outcome.record.top5, 1);
    EXPECT_EQ(outcome.record.samples, 2);
    EXPECT_TRUE(std::isnan(outcome.losses[1]) && std::isnan(outcome.record.loss_sum));
    EXPECT_EQ(outcome.record.loss_fixed,
              std::llrint(static_cast<double>(outcome.losses[0]) * 0x1p24) + (1LL << 40));
    const auto second = static_cast<std::size_t>(test::pitch_of<TypeParam>(classes));
    EXPECT_TRUE(std::isnan(to_float(outcome.gradient[second])));
    EXPECT_FALSE(std::isnan(to_float(outcome.gradient[0])));
  }
}

TYPED_TEST(SoftmaxCrossEntropy, ALabelThatIsNoClassGivesNan) {
  for (const std::int32_t label : {-1, 3, 1 << 30}) {
    const auto outcome = run<TypeParam>({.batch = 1, .classes = 3}, {1, 2, 3}, {label}, {}, true);
    EXPECT_TRUE(std::isnan(outcome.losses[0]));
    EXPECT_TRUE(std::isnan(to_float(outcome.gradient[0])));
    EXPECT_EQ(outcome.record.top5, 0);
  }
}

TYPED_TEST(SoftmaxCrossEntropy, TiesGoToTheLowestClass) {
  const std::vector<float> equal(40, 1.0F);  // 4 rows of 10
  const auto outcome = run<TypeParam>({.batch = 4, .classes = 10}, equal, {0, 4, 5, 9}, {}, false);
  EXPECT_EQ(outcome.record.top1, 1);
  EXPECT_EQ(outcome.record.top5, 2);
}

template <typename T>
class LayersSoftmaxCrossEntropy : public testing::Test {};
TYPED_TEST_SUITE(LayersSoftmaxCrossEntropy, Types);

TYPED_TEST(LayersSoftmaxCrossEntropy, ImageNet) {
  expect_reference<TypeParam>({.batch = 32, .classes = 1000, .smoothing = 0.1F});
  expect_reference<TypeParam>({.batch = 32, .classes = 1000, .valid = 30});
}

}  // namespace
}  // namespace trireme::kernels
