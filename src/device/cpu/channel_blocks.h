// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <dnnl.hpp>

namespace trireme::cpu {

/// How the channels of pictures lie in memory, for loops that treat neighbouring channels side by side. Lane
/// l of block b is channel b * kLanes + l, where blocks have that many lanes:
///
///   nChw16c, nChw8c   the layout's own blocks; lanes beyond the last channel are padding that holds zeros
///   nhwc              up to 16 neighbours of a pixel; the last block has the channels that are left
///   nchw              one channel each
///
/// Element (picture n, pixel p, block b, lane l) stands at
/// n * picture_stride + p * pixel_stride + b * block_stride + l.
struct ChannelBlocks {
  /// Error (70) for a layout of another kind.
  explicit ChannelBlocks(const dnnl::memory::desc& desc);

  static constexpr int kMostLanes = 16;

  std::int64_t pictures, pixels, channels;
  std::int64_t blocks = 1;
  int lanes = 1;  ///< of a whole block
  bool padded = false;
  std::int64_t picture_stride, pixel_stride, block_stride;

  std::int64_t positions() const { return pictures * pixels; }
  /// Channels and padding, in whole blocks: the length of arrays by channel.
  std::int64_t padded_channels() const { return blocks * lanes; }
  /// Lanes of block b that are there in memory.
  int lanes_of(std::int64_t b) const {
    const std::int64_t left = channels - b * lanes;
    return padded || left >= lanes ? lanes : static_cast<int>(left);
  }

  /// Calls visit(offset of block 0's first element, pixels) for the positions [begin, end), which count
  /// pixels through all pictures, once for each picture that they touch.
  template <typename Visit>
  void for_pictures(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    while (begin < end) {
      const std::int64_t pixel = begin % pixels, left = pixels - pixel;
      const std::int64_t count = left < end - begin ? left : end - begin;
      visit(begin / pixels * picture_stride + pixel * pixel_stride, count);
      begin += count;
    }
  }
};

}  // namespace trireme::cpu
