// SPDX-License-Identifier: Apache-2.0
// The flat buffers as the optimizer's kernels see them: segments (one for each parameter) with a rule, cut
// into tiles that a block takes. A tile lies in one segment, so a block has one rule, and one launch serves
// the whole buffer or any range of it.
//
//   segments   [ conv2.weight decayed            ] [ bn1.weight exempt ] [ running_mean statistic ] ...
//   tiles      [ 0      ][ 1      ][ 2           ] [ 3                 ] [ 4                      ] ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/simt/simt.h"

namespace trireme::kernels {

enum class SegmentRule : std::int32_t {
  decayed,   ///< the optimizer's update, with weight decay
  exempt,    ///< the optimizer's update without decay; LARS leaves its rate alone
  statistic  ///< moving average; not in norms
};

/// Elements [begin, begin + count) of the flat buffers; `begin` is a multiple of 4 elements.
struct Segment {
  std::int64_t begin = 0, count = 0;
  SegmentRule rule = SegmentRule::decayed;
};

struct alignas(16) SegmentTile {
  std::int64_t begin = 0;
  std::int32_t count = 0;
  std::int32_t segment = 0;
};

/// Most elements of a tile.
constexpr int kSegmentTile = 4096;

/// The tables as the host makes them, in ascending order of elements.
struct HostSegments {
  std::vector<SegmentTile> tiles;
  std::vector<SegmentRule> rules;  ///< [segments]
  std::vector<std::int32_t>
      first_tile;  ///< [segments + 1]: tiles of segment s are [first_tile[s], first_tile[s+1])
};

/// Throws std::invalid_argument where segments overlap, descend or begin off a multiple of 4.
HostSegments make_segments(std::span<const Segment> segments);

/// The same tables in device memory.
struct SegmentTable {
  const SegmentTile* tiles = nullptr;
  const SegmentRule* rules = nullptr;
  const std::int32_t* first_tile = nullptr;
  int tile_count = 0, segment_count = 0;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(tiles);
    visit(rules);
    visit(first_tile);
  }
};

/// Elements [begin, end) of the flat buffers, which may begin and end inside segments, and the tiles that
/// they touch.
struct SegmentRange {
  std::int64_t begin = 0, end = 0;
  int first_tile = 0, tile_count = 0;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit /*visit*/) const {}
};
SegmentRange make_range(const HostSegments& segments, std::int64_t begin, std::int64_t end);

}  // namespace trireme::kernels
