// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernels/reference/softmax_cross_entropy.h"
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

template <typename T>
std::int64_t count_of(int classes, int k, const std::vector<float>& logits,
                      const std::vector<std::int32_t>& labels, std::int64_t valid) {
  const auto batch = static_cast<std::int64_t>(labels.size());
  const int pitch = static_cast<int>(test::pitch_of<T>(classes)) + kVectorSize<T>;
  const DeviceArray<T> z(test::with_pitch<T>(logits, classes, pitch));
  const DeviceArray<std::int32_t> l(labels);
  const DeviceArray<StepValues> step(std::vector{StepValues{.valid_samples = valid}});
  DeviceArray<std::int64_t> count(std::vector<std::int64_t>{1000});
  top_k_count<T>({batch, classes, pitch}, k, z.data(), l.data(), step.data(), count.data(), nullptr);
  return count.to_host()[0] - 1000;
}

template <typename T>
class TopK : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(TopK, Types);

TYPED_TEST(TopK, CountsWhatTheReferenceCounts) {
  for (const int classes : {1, 2, 10, 300})
    for (const int k : {1, 2, 5, 32}) {
      auto logits = test::random_rows<float>(21, classes, 5);
      for (float& value : logits) value = std::nearbyint(value * 20);  // many ties
      std::mt19937 random(7);
      std::vector<std::int32_t> labels(21);
      for (auto& label : labels) label = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
      std::int64_t expected = 0;
      for (std::size_t n = 0; n < 19; ++n)
        expected +=
            reference::is_in_top(logits.data() + n * static_cast<std::size_t>(classes), classes, labels[n], k)
                ? 1
                : 0;
      EXPECT_EQ(count_of<TypeParam>(classes, k, logits, labels, 19), expected)
          << classes << " classes, k " << k;
    }
}

TYPED_TEST(TopK, NanAndWrongLabelsAreNeverCorrect) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(count_of<TypeParam>(2, 32, {1, nan, 1, 2, 1, 2, 1, 2}, {0, 0, -1, 2}, 4), 1);
}

TYPED_TEST(TopK, RefusesOtherK) {
  EXPECT_THROW(count_of<TypeParam>(2, 0, {1, 2}, {0}, 1), std::invalid_argument);
  EXPECT_THROW(count_of<TypeParam>(2, 33, {1, 2}, {0}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
