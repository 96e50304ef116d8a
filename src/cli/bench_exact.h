// SPDX-License-Identifier: Apache-2.0
// Inputs whose sum over ranks is the same number in every order of adding, and the comparison with it.
#pragma once

#include <cstdint>
#include <span>

namespace trireme {

/// Most ranks for which the sums are exact.
inline constexpr int kMostExactRanks = 50000;

/// Fills the values of `rank`: whole numbers from 1 to 317 that depend on the rank and, without a period, on
/// the index.
void fill_exact(std::span<float> values, int rank);

/// How many values differ from the sum of what `ranks` ranks had filled in.
std::int64_t count_wrong(std::span<const float> values, int ranks);

}  // namespace trireme
