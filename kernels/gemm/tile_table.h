// SPDX-License-Identifier: Apache-2.0
// Which tile a matrix product takes.
#pragma once

#include <cstdint>

#include "kernels/gemm/tile.h"

namespace trireme::kernels {

/// rows_x_columns of the result that a block makes.
enum class TileShape { automatic, t128x128, t128x64, t64x64, t64x32 };

struct TileSize {
  int m, n;
};
TileSize tile_size(TileShape tile);
const char* tile_name(TileShape tile);

/// The kinds of arithmetic, which differ in the tiles that are built for them.
enum class Arithmetic { tensor16, tensor32, fp32 };
template <typename T>
constexpr Arithmetic kArithmetic = Arithmetic::tensor16;
template <>
inline constexpr Arithmetic kArithmetic<simt::Tf32> = Arithmetic::tensor32;
template <>
inline constexpr Arithmetic kArithmetic<float> = Arithmetic::fp32;

/// Whether the product is built with this tile.
bool has_tile(Arithmetic arithmetic, TileShape tile);

/// The first row of the table in tile_table.cu that fits an m x n result.
TileShape choose_tile(Arithmetic arithmetic, std::int64_t m, std::int64_t n);
/// For products that are cut along k into as many parts as there are multiprocessors to fill.
TileShape choose_split_tile(Arithmetic arithmetic, std::int64_t m, std::int64_t n);
/// `tile`, or choose_tile for `automatic`. Throws std::invalid_argument where has_tile is false.
TileShape resolve_tile(TileShape tile, Arithmetic arithmetic, std::int64_t m, std::int64_t n);

/// Calls launch(Tile128x128()) and so on for the tiles that T has.
template <typename T, typename Launch>
void with_tile(TileShape tile, const Launch& launch) {
  if constexpr (kArithmetic<T> == Arithmetic::tensor16) {
    if (tile == TileShape::t128x128) return launch(Tile128x128());
    if (tile == TileShape::t128x64) return launch(Tile128x64());
    if (tile == TileShape::t64x32) return launch(Tile64x32());
  } else if constexpr (kArithmetic<T> == Arithmetic::tensor32) {
    if (tile == TileShape::t128x128) return launch(Tile128x128Of8());
  }
  launch(Tile64x64());
}

}  // namespace trireme::kernels
