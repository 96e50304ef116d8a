// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/tile_table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace trireme::kernels {
namespace {

TEST(TileTable, GivesOnlyTilesThatAreBuilt) {
  for (const Arithmetic arithmetic : {Arithmetic::tensor16, Arithmetic::tensor32, Arithmetic::fp32})
    for (std::int64_t m = 1; m < 1 << 26; m *= 3)
      for (std::int64_t n = 1; n < 1 << 14; n *= 3) {
        EXPECT_TRUE(has_tile(arithmetic, choose_tile(arithmetic, m, n)));
        EXPECT_TRUE(has_tile(arithmetic, choose_split_tile(arithmetic, m, n)));
      }
}

TEST(TileTable, WidensTilesWithTheProduct) {
  EXPECT_EQ(choose_tile(Arithmetic::tensor16, 1 << 20, 32), TileShape::t64x32);
  EXPECT_EQ(choose_tile(Arithmetic::tensor16, 1 << 20, 64), TileShape::t128x64);
  EXPECT_EQ(choose_tile(Arithmetic::tensor16, 1 << 20, 256), TileShape::t128x128);
  EXPECT_EQ(choose_tile(Arithmetic::tensor16, 49, 512), TileShape::t64x32);
  EXPECT_EQ(choose_tile(Arithmetic::fp32, 1 << 20, 256), TileShape::t64x64);
}

TEST(TileTable, NamesTheSizesOfTiles) {
  with_tile<simt::Half>(TileShape::t128x64, [](auto tile) {
    EXPECT_EQ(tile.kM, tile_size(TileShape::t128x64).m);
    EXPECT_EQ(tile.kN, tile_size(TileShape::t128x64).n);
  });
  EXPECT_STREQ(tile_name(TileShape::t64x32), "64x32");
  EXPECT_THROW(tile_size(TileShape::automatic), std::invalid_argument);
}

TEST(TileTable, ResolvesOnlyTheAutomaticTile) {
  EXPECT_EQ(resolve_tile(TileShape::t64x32, Arithmetic::tensor16, 1 << 20, 256), TileShape::t64x32);
  EXPECT_EQ(resolve_tile(TileShape::automatic, Arithmetic::tensor16, 1 << 20, 256), TileShape::t128x128);
  EXPECT_THROW(resolve_tile(TileShape::t128x64, Arithmetic::tensor32, 64, 64), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::kernels
