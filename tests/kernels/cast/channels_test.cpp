// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/channels.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/pictures.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

template <typename T>
class CastToPitch : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(CastToPitch, Types);

TYPED_TEST(CastToPitch, RoundsChannelsAndFillsPadsWithZeros) {
  using T = TypeParam;
  struct Case {
    int channels, pitch;
    std::int64_t pixels;
  };
  for (const auto& [channels, pitch, pixels] :
       {Case{3, 4, 1}, Case{3, 4, 1023}, Case{3, 4, 4096}, Case{1, 4, 1025}, Case{4, 4, 77}, Case{3, 8, 500},
        Case{5, 8, 33}, Case{13, 24, 2050}}) {
    const auto values = test::random_rows<float>(pixels, channels, 4);
    const DeviceArray<float> from(values);
    DeviceArray<T> to(static_cast<std::size_t>(pixels * pitch));
    cast_to_pitch(to.data(), pitch, from.data(), channels, pixels, nullptr);
    bool pad_is_zero = true;
    const auto actual = test::without_pitch(to.to_host(), channels, pitch, pad_is_zero);
    EXPECT_TRUE(pad_is_zero) << channels << " of " << pitch;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(actual[i], to_float(from_float<T>(values[i]))) << i << ", " << channels << " of " << pitch;
  }
}

TEST(CastToAPitch, RefusesPitchesThatDoNotHoldTheChannels) {
  DeviceArray<float> data(64);
  for (const auto& [channels, pitch] : {std::pair{5, 4}, {3, 3}, {3, 6}, {0, 4}})
    EXPECT_THROW(cast_to_pitch(data.data(), pitch, data.data(), channels, 1, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
