// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/numeric.h"
#include "kernels/optimizer/segments.h"

namespace trireme::kernels {

constexpr int kTileThreads = 256;

/// What this block works on.
struct BlockTile {
  SegmentTile tile;
  std::int64_t begin, end;  ///< the part of the tile that lies in the range
  SegmentRule rule;
};

__device__ inline BlockTile block_tile(const SegmentTable& segments, const SegmentRange& range) {
  const SegmentTile tile = simt::load(segments.tiles + range.first_tile + blockIdx.x);
  const std::int64_t end = tile.begin + tile.count;
  return {tile, tile.begin > range.begin ? tile.begin : range.begin, end < range.end ? end : range.end,
          simt::load(segments.rules + tile.segment)};
}

/// Calls four(at) for the 4-element vectors of the part that are wholly inside, and one(at) for each other
/// element of it. `at` is an element of the flat buffers; vectors are 16-byte aligned.
template <typename Four, typename One>
__device__ __forceinline__ void for_each_in(const BlockTile& part, Four four, One one) {
  for (int offset = static_cast<int>(threadIdx.x) * 4; offset < part.tile.count; offset += kTileThreads * 4) {
    const std::int64_t at = part.tile.begin + offset;
    if (at >= part.begin && at + 4 <= part.end) {
      four(at);
    } else {
      for (std::int64_t each = at; each < at + 4; ++each)
        if (each >= part.begin && each < part.end) one(each);
    }
  }
}

}  // namespace trireme::kernels
