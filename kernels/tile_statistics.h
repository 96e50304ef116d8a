// SPDX-License-Identifier: Apache-2.0
// Statistics of an activation by tiles of rows: what a convolution's epilogue hands to the batch norm behind
// it.
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// Tile i has the rows from i * rows_per_tile on: rows_per_tile of them, the last tile what is left.
struct StatisticsTiles {
  std::int64_t tiles = 0, rows_per_tile = 0, rows = 0;
};

/// [tiles][2][pitch] fp32: the mean of the tile's values in each channel, then the sum of their squared
/// distances from it (M2). Pad channels hold zeros.
struct TileStatistics {
  const float* values = nullptr;
  std::int64_t tiles = 0, rows_per_tile = 0;
};

}  // namespace trireme::kernels
