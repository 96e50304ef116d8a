// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/core/multiversion.h"
#include "src/optim/blocks.h"
#include "src/optim/optimizer.h"

namespace trireme {
namespace {

constexpr std::size_t kLanes = 8;  // partial sums side by side: the same order whatever the vector length

TRIREME_MULTIVERSION
double sum_of_squares(const float* values, std::size_t count) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  for (; i < count; ++i) {
    const double value = values[i];
    lanes[i % kLanes] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// The largest magnitude as bits: infinities and NaNs are those with a full exponent.
TRIREME_MULTIVERSION
std::int32_t largest_magnitude_bits(const float* values, std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(values[i]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

}  // namespace

double squared_norm(const Graph& graph, const FlatLayout& layout, const float* gradients) {
  struct Block {
    const float* values;
    std::size_t count;
    double sum;
  };
  std::vector<Block> blocks;
  for (const FlatLayout::Entry& entry : layout.entries) {
    if (graph.parameter(entry.parameter).is_statistic()) continue;
    for (std::size_t b = 0; b < blocks_of(entry.count); ++b)
      blocks.push_back({gradients + entry.offset + b * kBlockElements, block_size(b, entry.count), 0});
  }
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < blocks.size(); ++b)
    blocks[b].sum = sum_of_squares(blocks[b].values, blocks[b].count);
  double sum = 0;
  for (const Block& block : blocks) sum += block.sum;
  return sum;
}

double clip_factor(double clip_norm, double squared_norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (std::sqrt(squared_norm) + 1e-6)) : 1;
}

bool all_finite(const float* values, std::size_t count) {
  constexpr std::int32_t kFullExponent = 0x7f800000;
  const std::size_t blocks = blocks_of(count);
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite) if (blocks > 1)
  for (std::size_t b = 0; b < blocks; ++b)
    finite =
        finite && largest_magnitude_bits(values + b * kBlockElements, block_size(b, count)) < kFullExponent;
  return finite;
}

}  // namespace trireme
