// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "kernels/philox.h"
#include "kernels/reference/elementwise.h"
#include "src/core/philox.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

TEST(KernelPhilox, GivesTheNumbersOfTheHost) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 0xFEDCBA9876543210ULL})
    for (const std::uint64_t sample : {0ULL, 7ULL, 0x123456789ABULL, 0xFFFFFFFFFFFFFFFFULL})
      for (const std::uint32_t epoch : {0U, 90U, 0xFFFFFFFFU})
        for (const std::uint32_t index : {0U, 1U, 12345U, 0xFFFFFFFFU}) {
          const std::uint16_t stream = 0xFF01;
          const auto expected = trireme::Philox(seed, stream, epoch, sample).block(index);
          const RandomWords actual = Philox{seed, sample, epoch, stream}.block(index);
          for (int i = 0; i < 4; ++i) ASSERT_EQ(actual[i], expected[static_cast<std::size_t>(i)]);
        }
  trireme::Philox random(5, 3, 1, 2);
  for (std::uint32_t index = 0; index < 3; ++index) {
    const RandomWords words = Philox{5, 2, 1, 3}.block(index);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(uniform_of(words[i]), random.next_uniform());
  }
}

/// Samples of the rows; sample ids, seed and epoch as a run might have them.
template <typename T>
struct DropoutCase {
  DropoutCase(int batch, int pixels, int channels, int extra_vectors)
      : shape{batch, pixels, channels,
              static_cast<int>(test::pitch_of<T>(channels)) + extra_vectors * kVectorSize<T>},
        x(test::random_rows<T>(batch * pixels, channels, 1)),
        device_x(test::with_pitch<T>(x, channels, shape.pitch)),
        device_y(device_x.size()),
        step(std::vector<StepValues>{values()}) {
    for (int n = 0; n < batch; ++n) sample_ids.push_back((1LL << 33) + 1000003LL * n);
    device_ids = std::make_unique<DeviceArray<std::int64_t>>(sample_ids);
  }
  static StepValues values() {
    StepValues step;
    step.seed = 0x1234567890ABCDEF;
    step.epoch = 17;
    return step;
  }

  /// Drawn as the cpu device does: one uniform number after the other, in the order C,H,W of the sample.
  std::vector<std::uint8_t> mask(double probability) const {
    std::vector<std::uint8_t> keep(x.size());
    for (int n = 0; n < shape.batch; ++n) {
      trireme::Philox random(values().seed, kStream, values().epoch,
                             static_cast<std::uint64_t>(sample_ids[static_cast<std::size_t>(n)]));
      for (int c = 0; c < shape.channels; ++c)
        for (int p = 0; p < shape.pixels; ++p)
          keep[static_cast<std::size_t>((n * shape.pixels + p) * shape.channels + c)] =
              static_cast<double>(random.next_uniform()) >= probability ? 1 : 0;
    }
    return keep;
  }

  std::vector<float> run(double probability, T* to) {
    dropout(to, device_x.data(), {probability, kStream, step.data(), device_ids->data()}, shape, nullptr);
    bool pad_is_zero = true;
    const DeviceArray<T>& made = to == device_x.data() ? device_x : device_y;
    std::vector<float> values = test::without_pitch(made.to_host(), shape.channels, shape.pitch, pad_is_zero);
    EXPECT_TRUE(pad_is_zero);
    return values;
  }

  void expect_equal(double probability) {
    std::vector<float> expected(x.size());
    const std::vector<std::uint8_t> keep = mask(probability);
    const auto scale = static_cast<float>(1.0 / (1.0 - probability));  // as the cpu device multiplies
    for (std::size_t i = 0; i < x.size(); ++i)
      expected[i] = keep[i] != 0 ? to_float(from_float<T>(x[i] * scale)) : 0.0F;
    EXPECT_EQ(run(probability, device_y.data()), expected) << probability;
  }

  static constexpr std::uint16_t kStream = static_cast<std::uint16_t>(RandomStream::dropout) + 2;
  DropoutShape shape;
  std::vector<float> x;
  std::vector<std::int64_t> sample_ids;
  DeviceArray<T> device_x, device_y;
  DeviceArray<StepValues> step;
  std::unique_ptr<DeviceArray<std::int64_t>> device_ids;
};

template <typename T>
class Dropout : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(Dropout, Types);

TYPED_TEST(Dropout, MasksAreTheCpuDevicesBitForBit) {
  for (const double probability : {0.0, 1e-9, 0.1, 0.5, 0.75, 1 - 0x1p-20}) {
    DropoutCase<TypeParam>(3, 1, 4100, 1).expect_equal(probability);  // features
    DropoutCase<TypeParam>(2, 15, 9, 1).expect_equal(probability);    // pictures
    DropoutCase<TypeParam>(1, 1, 1, 0).expect_equal(probability);
  }
}

TYPED_TEST(Dropout, AUniformNumberEqualToTheProbabilityIsKept) {
  DropoutCase<TypeParam> features(1, 1, 40, 0);
  trireme::Philox random(features.values().seed, features.kStream, features.values().epoch,
                         static_cast<std::uint64_t>(features.sample_ids[0]));
  for (int i = 0; i < 10; ++i) random.next_uniform();
  const double exactly = static_cast<double>(random.next_uniform());
  EXPECT_EQ(features.mask(exactly)[10], 1);
  EXPECT_EQ(features.mask(std::nextafter(exactly, 1.0))[10], 0);
  features.expect_equal(exactly);
  features.expect_equal(std::nextafter(exactly, 1.0));
}

TYPED_TEST(Dropout, EqualsTheReferenceAndMayOverwriteItsInput) {
  using T = TypeParam;
  DropoutCase<T> pictures(2, 6, 11, 0);
  std::vector<float> expected(pictures.x.size());
  const std::vector<std::uint8_t> keep = pictures.mask(0.5);
  reference::dropout(expected.data(), pictures.x.data(), keep.data(), 0.5,
                     static_cast<std::int64_t>(keep.size()));
  EXPECT_EQ(pictures.run(0.5, pictures.device_x.data()), expected);
}

TYPED_TEST(Dropout, ProbabilitiesOutsideOfTheirRangeAreRefused) {
  DropoutCase<TypeParam> features(1, 1, 8, 0);
  for (const double probability : {-0.1, 1.0, static_cast<double>(NAN)})
    EXPECT_THROW(features.run(probability, features.device_y.data()), std::invalid_argument);
}

template <typename T>
class LayersDropout : public testing::Test {};
TYPED_TEST_SUITE(LayersDropout, Types);

TYPED_TEST(LayersDropout, OfVgg16) {
  DropoutCase<TypeParam>(4, 1, 4096, 0).expect_equal(0.5);
}

}  // namespace
}  // namespace trireme::kernels
