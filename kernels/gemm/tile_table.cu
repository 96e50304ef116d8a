// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/tile_table.h"

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace trireme::kernels {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

struct Row {
  Arithmetic arithmetic;
  std::int64_t max_m, max_n;  ///< of the product
  std::int64_t max_area;      ///< m times n
  TileShape tile;
};

// Read from above; a row fits if all its bounds hold. One wave over 132 multiprocessors is 264 blocks of
// 128x128, 396 of 128x64, 528 of 64x64: an area below a wave of the wider tile takes the narrower one.
constexpr Row kTable[] = {
    {Arithmetic::tensor16, kAny, 32, kAny, TileShape::t64x32},
    {Arithmetic::tensor16, 64, 8192, kAny, TileShape::t64x32},  // linear layers of small batches
    {Arithmetic::tensor16, 64, kAny, kAny, TileShape::t64x64},
    {Arithmetic::tensor16, kAny, kAny, 64 * 64 * 528, TileShape::t64x64},
    {Arithmetic::tensor16, kAny, 64, kAny, TileShape::t128x64},
    {Arithmetic::tensor16, kAny, kAny, 128 * 128 * 264 * 2, TileShape::t128x64},
    {Arithmetic::tensor16, kAny, kAny, kAny, TileShape::t128x128},
    {Arithmetic::tensor32, kAny, 64, kAny, TileShape::t64x64},
    {Arithmetic::tensor32, kAny, kAny, 128 * 128 * 264 * 2, TileShape::t64x64},
    {Arithmetic::tensor32, kAny, kAny, kAny, TileShape::t128x128},
    {Arithmetic::fp32, kAny, kAny, kAny, TileShape::t64x64},
};

// The area does not matter here: parts along k make up for few tiles.
constexpr Row kSplitTable[] = {
    {Arithmetic::tensor16, kAny, 32, kAny, TileShape::t64x32},
    {Arithmetic::tensor16, 64, kAny, kAny, TileShape::t64x64},
    {Arithmetic::tensor16, kAny, 64, kAny, TileShape::t128x64},
    {Arithmetic::tensor16, kAny, kAny, kAny, TileShape::t128x128},
    {Arithmetic::tensor32, 64, kAny, kAny, TileShape::t64x64},
    {Arithmetic::tensor32, kAny, 64, kAny, TileShape::t64x64},
    {Arithmetic::tensor32, kAny, kAny, kAny, TileShape::t128x128},
    {Arithmetic::fp32, kAny, kAny, kAny, TileShape::t64x64},
};

template <std::size_t kRows>
TileShape find_row(const Row (&table)[kRows], Arithmetic arithmetic, std::int64_t m, std::int64_t n) {
  for (const Row& row : table)
    if (row.arithmetic == arithmetic && m <= row.max_m && n <= row.max_n && m * n <= row.max_area)
      return row.tile;
  throw std::logic_error("the tile table has no row for this product");
}

}  // namespace

TileSize tile_size(TileShape tile) {
  switch (tile) {
    case TileShape::t128x128:
      return {128, 128};
    case TileShape::t128x64:
      return {128, 64};
    case TileShape::t64x64:
      return {64, 64};
    case TileShape::t64x32:
      return {64, 32};
    case TileShape::automatic:
      break;
  }
  throw std::invalid_argument("the automatic tile has no size");
}

const char* tile_name(TileShape tile) {
  switch (tile) {
    case TileShape::t128x128:
      return "128x128";
    case TileShape::t128x64:
      return "128x64";
    case TileShape::t64x64:
      return "64x64";
    case TileShape::t64x32:
      return "64x32";
    case TileShape::automatic:
      break;
  }
  return "automatic";
}

bool has_tile(Arithmetic arithmetic, TileShape tile) {
  if (tile == TileShape::t64x64) return true;
  if (tile == TileShape::t128x128) return arithmetic != Arithmetic::fp32;
  return tile != TileShape::automatic && arithmetic == Arithmetic::tensor16;
}

TileShape choose_tile(Arithmetic arithmetic, std::int64_t m, std::int64_t n) {
  return find_row(kTable, arithmetic, m, n);
}
TileShape choose_split_tile(Arithmetic arithmetic, std::int64_t m, std::int64_t n) {
  return find_row(kSplitTable, arithmetic, m, n);
}

TileShape resolve_tile(TileShape tile, Arithmetic arithmetic, std::int64_t m, std::int64_t n) {
  if (tile == TileShape::automatic) return choose_tile(arithmetic, m, n);
  if (!has_tile(arithmetic, tile))
    throw std::invalid_argument(std::string("no kernel of this type has tiles of ") + tile_name(tile));
  return tile;
}

}  // namespace trireme::kernels
