// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/segments.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace trireme::kernels {

HostSegments make_segments(std::span<const Segment> segments) {
  HostSegments made;
  std::int64_t end = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    if (segment.begin < end || segment.begin % 4 != 0 || segment.count < 0)
      throw std::invalid_argument("segment " + std::to_string(s) + " begins at element " +
                                  std::to_string(segment.begin) +
                                  ": segments ascend and begin at multiples of 4 elements");
    made.first_tile.push_back(static_cast<std::int32_t>(made.tiles.size()));
    made.rules.push_back(segment.rule);
    end = segment.begin + segment.count;
    for (std::int64_t at = segment.begin; at < end; at += kSegmentTile)
      made.tiles.push_back({at, static_cast<std::int32_t>(std::min<std::int64_t>(kSegmentTile, end - at)),
                            static_cast<std::int32_t>(s)});
  }
  made.first_tile.push_back(static_cast<std::int32_t>(made.tiles.size()));
  return made;
}

SegmentRange make_range(const HostSegments& segments, std::int64_t begin, std::int64_t end) {
  const auto& tiles = segments.tiles;
  const auto first = std::partition_point(
      tiles.begin(), tiles.end(), [=](const SegmentTile& tile) { return tile.begin + tile.count <= begin; });
  const auto last =
      std::partition_point(first, tiles.end(), [=](const SegmentTile& tile) { return tile.begin < end; });
  return {begin, end, static_cast<int>(first - tiles.begin()), static_cast<int>(last - first)};
}

}  // namespace trireme::kernels
