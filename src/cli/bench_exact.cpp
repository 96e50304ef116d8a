// SPDX-License-Identifier: Apache-2.0
// Rank r holds a(i) + b(r) at index i, with small whole a and b. All partial sums are whole numbers below
// 2^24, so fp32 adds them without rounding, and the sum over n ranks is n·a(i) + (b(0) + … + b(n-1)): cheap
// to know for every element. a comes from a multiplicative hash: data that lands at the wrong index shows.
#include "src/cli/bench_exact.h"

#include <cstddef>

namespace trireme {

namespace {

constexpr std::uint32_t kRankValues = 61;

std::uint32_t index_value(std::size_t index) {
  constexpr std::uint32_t kGoldenRatio = 2654435761U;  // 2^32 over the golden ratio
  return (static_cast<std::uint32_t>(index) * kGoldenRatio >> 24) + 1;
}

std::uint32_t rank_value(int rank) {
  return static_cast<std::uint32_t>(rank) % kRankValues;
}

}  // namespace

void fill_exact(std::span<float> values, int rank) {
  const std::uint32_t own = rank_value(rank);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(index_value(i) + own);
}

std::int64_t count_wrong(std::span<const float> values, int ranks) {
  const auto count = static_cast<std::uint32_t>(ranks);
  std::uint32_t of_ranks = 0;
  for (int rank = 0; rank < ranks; ++rank) of_ranks += rank_value(rank);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong += values[i] == static_cast<float>(count * index_value(i) + of_ranks) ? 0 : 1;
  return wrong;
}

}  // namespace trireme
