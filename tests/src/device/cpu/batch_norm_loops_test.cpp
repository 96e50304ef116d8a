// SPDX-License-Identifier: Apache-2.0
// The loops by channel in every layout that they know, against plain loops through PhysicalIndex.
#include "src/device/cpu/batch_norm_loops.h"

#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/device/cpu/onednn_layout.h"
#include "tests/support/numbers.h"

namespace trireme::cpu {
namespace {

using testing::expect_close;
using testing::random_values;
using Tag = dnnl::memory::format_tag;

dnnl::memory::desc desc_of(const dnnl::memory::dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

struct LayoutCase {
  const char* name;
  Tag tag;
};

class EveryLayout : public ::testing::TestWithParam<LayoutCase> {
 protected:
  // 19 channels: a part of a block is left; 1050 positions: so is a part of a piece, which begins in
  // mid-picture
  dnnl::memory::desc desc_ = desc_of({3, 19, 14, 25}, GetParam().tag);
  ChannelBlocks layout_{desc_};
  PhysicalIndex index_{desc_};
  std::size_t size_ = static_cast<std::size_t>(physical_count(desc_));
  std::size_t channels_ = static_cast<std::size_t>(layout_.channels);

  /// Random numbers in the channels, zeros in the padding.
  std::vector<float> values(std::uint32_t seed) const {
    const std::vector<float> random = random_values<float>(static_cast<std::int64_t>(size_), seed);
    std::vector<float> padded(size_);
    each([&](std::size_t, std::size_t i) { padded[i] = random[i]; });
    return padded;
  }
  std::vector<float> by_channel(std::uint32_t seed) const {
    std::vector<float> row = random_values<float>(layout_.padded_channels(), seed);
    std::fill(row.begin() + layout_.channels, row.end(), 0.0F);
    return row;
  }
  /// Calls visit(channel, place) for every element.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::int64_t n = 0; n < 3; ++n)
      for (std::int64_t c = 0; c < 19; ++c)
        for (std::int64_t h = 0; h < 14; ++h)
          for (std::int64_t w = 0; w < 25; ++w)
            visit(static_cast<std::size_t>(c), static_cast<std::size_t>(index_(n, c, h, w)));
  }
  std::vector<double> scratch() const {
    return std::vector<double>(static_cast<std::size_t>(partial_sums(layout_)), -1.0);
  }
};

TEST_P(EveryLayout, MomentsAreThoseOfEachChannel) {
  const std::vector<float> x = values(1);
  std::vector<double> partial = scratch(), sums(2 * channels_, -1.0), expected(2 * channels_);
  each([&](std::size_t c, std::size_t i) {
    const auto value = static_cast<double>(x[i]);
    expected[c] += value;
    expected[channels_ + c] += value * value;
  });
  channel_moments(layout_, x.data(), partial.data(), sums.data());
  expect_close(sums, expected, 1e-14, "moments");
}

TEST_P(EveryLayout, GradientMomentsSeeOnlyWhatTheReluLetThrough) {
  const std::vector<float> x = values(1), dy = values(2), y = values(3), mean = by_channel(4);
  for (const float* gate : {static_cast<const float*>(nullptr), y.data()}) {
    std::vector<double> partial = scratch(), sums(2 * channels_, -1.0), expected(2 * channels_);
    each([&](std::size_t c, std::size_t i) {
      const double g = gate == nullptr || gate[i] > 0 ? static_cast<double>(dy[i]) : 0;
      expected[c] += g;
      expected[channels_ + c] += g * (static_cast<double>(x[i]) - static_cast<double>(mean[c]));
    });
    gradient_moments(layout_, x.data(), dy.data(), gate, mean.data(), partial.data(), sums.data());
    expect_close(sums, expected, 1e-14, "gradient moments");
  }
}

TEST_P(EveryLayout, NormalizesAndKeepsPaddingZero) {
  const std::vector<float> x = values(1), mean = by_channel(2), factor = by_channel(3), shift = by_channel(4);
  for (const bool relu : {false, true}) {
    std::vector<float> y(size_, -7.0F), expected(size_);
    each([&](std::size_t c, std::size_t i) {
      const float value = (x[i] - mean[c]) * factor[c] + shift[c];
      expected[i] = relu ? std::max(value, 0.0F) : value;
    });
    normalize(layout_, y.data(), x.data(), {mean.data(), factor.data(), shift.data()}, relu);
    EXPECT_EQ(y, expected);
  }
}

TEST_P(EveryLayout, InputGradientsInPlaceOrNot) {
  const std::vector<float> x = values(1), dy = values(2), y = values(3);
  const std::vector<float> mean = by_channel(4), factor = by_channel(5), offset = by_channel(6),
                           slope = by_channel(7);
  const GradientFactors factors{mean.data(), factor.data(), offset.data(), slope.data()};
  for (const float* gate : {static_cast<const float*>(nullptr), y.data()}) {
    std::vector<float> expected(size_), apart(size_, -7.0F), in_place = dy;
    each([&](std::size_t c, std::size_t i) {
      const float g = gate == nullptr || gate[i] > 0 ? dy[i] : 0;
      expected[i] = factor[c] * (g - offset[c] - slope[c] * (x[i] - mean[c]));
    });
    input_gradient(layout_, apart.data(), dy.data(), x.data(), gate, factors);
    input_gradient(layout_, in_place.data(), in_place.data(), x.data(), gate, factors);
    EXPECT_EQ(apart, expected);
    EXPECT_EQ(in_place, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(layouts, EveryLayout,
                         ::testing::Values(LayoutCase{"nchw", Tag::nchw}, LayoutCase{"nhwc", Tag::nhwc},
                                           LayoutCase{"nChw8c", Tag::nChw8c},
                                           LayoutCase{"nChw16c", Tag::nChw16c}),
                         [](const auto& layout) { return layout.param.name; });

TEST(ChannelBlocks, RefuseBlocksOfPictures) {
  EXPECT_THROW(ChannelBlocks(desc_of({16, 16, 4, 4}, Tag::NChw16n16c)), Error);
  EXPECT_THROW(ChannelBlocks(desc_of({2, 3, 4, 5}, Tag::abdc)), Error);  // rows beside each other
}

}  // namespace
}  // namespace trireme::cpu
