// SPDX-License-Identifier: Apache-2.0
// Flat buffers of a graph for kernel tests: the segments as the device knows them, and numbers to fill them
// with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/optimizer/segments.h"
#include "src/core/philox.h"
#include "src/graph/flat_layout.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::test {

/// A segment for each entry, up to element `end`.
inline std::vector<kernels::Segment> segments_of(const Graph& graph, const FlatLayout& layout, bool decay_all,
                                                 std::size_t end = std::numeric_limits<std::size_t>::max()) {
  std::vector<kernels::Segment> segments;
  for (const FlatLayout::Entry& entry : layout.entries) {
    if (entry.offset >= end) break;
    const Parameter& parameter = graph.parameter(entry.parameter);
    const bool is_weight =
        parameter.role == ParamRole::conv_weight || parameter.role == ParamRole::linear_weight;
    segments.push_back({static_cast<std::int64_t>(entry.offset),
                        static_cast<std::int64_t>(std::min(entry.count, end - entry.offset)),
                        parameter.is_statistic() ? kernels::SegmentRule::statistic
                        : is_weight || decay_all ? kernels::SegmentRule::decayed
                                                 : kernels::SegmentRule::exempt});
  }
  return segments;
}

/// The tables on both sides.
class DeviceSegments {
 public:
  explicit DeviceSegments(const std::vector<kernels::Segment>& segments)
      : host(kernels::make_segments(segments)),
        tiles_(host.tiles),
        rules_(host.rules),
        first_tile_(host.first_tile) {}

  kernels::SegmentTable table() const {
    return {tiles_.data(), rules_.data(), first_tile_.data(), static_cast<int>(host.tiles.size()),
            static_cast<int>(host.rules.size())};
  }

  const kernels::HostSegments host;

 private:
  DeviceArray<kernels::SegmentTile> tiles_;
  DeviceArray<kernels::SegmentRule> rules_;
  DeviceArray<std::int32_t> first_tile_;
};

/// Normal numbers inside segments, NaN in the gaps between them.
inline std::vector<float> normal_in(const std::vector<kernels::Segment>& segments, std::size_t elements,
                                    std::uint64_t seed) {
  std::vector<float> values(elements, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t s = 0; s < segments.size(); ++s)
    if (segments[s].count > 0)
      fill_normal(Philox(seed, 90, 0, s), 1.0F, &values[static_cast<std::size_t>(segments[s].begin)],
                  segments[s].count);
  return values;
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace trireme::test
