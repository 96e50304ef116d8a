// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut: a block makes a kM x kN tile of the result, each of its warps a kWarpM x
// kWarpN part of it by mma of 16 rows and 8 columns. Along k it goes in steps of 128 bytes of elements: one
// row of a tile in shared memory is then 8 chunks of 16 bytes, and 8 lanes read a whole 128-byte line.
#pragma once

#include "kernels/numeric.h"

namespace trireme::kernels {

constexpr int kChunkBytes = 16;
constexpr int kTileRowBytes = 128;
constexpr int kTileRowChunks = kTileRowBytes / kChunkBytes;

/// Elements along k in a tile.
template <typename T>
constexpr int kTileK = kTileRowBytes / static_cast<int>(sizeof(T));

template <int kRows, int kColumns, int kWarpRows, int kWarpColumns, int kPipelineStages>
struct Tile {
  static constexpr int kM = kRows;
  static constexpr int kN = kColumns;
  static constexpr int kStages = kPipelineStages;
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns;
  static constexpr int kWarpM = kRows / kWarpRows;
  static constexpr int kWarpN = kColumns / kWarpColumns;
  static constexpr int kMmaRows = kWarpM / 16;
  static constexpr int kMmaColumns = kWarpN / 8;
  static_assert(kMmaColumns % 2 == 0, "one ldmatrix brings two columns of mma");

  static constexpr int kStageBytes = (kM + kN) * kTileRowBytes;
  /// fp32 values of the finished tile, each row 32 bytes longer: the writes of a half warp then meet all
  /// banks.
  static constexpr int kStagedPitch = kN + 8;
  static constexpr int kStagedBytes = kM * kStagedPitch * static_cast<int>(sizeof(float));
  static constexpr int kSharedBytes =
      kStages * kStageBytes > kStagedBytes ? kStages* kStageBytes : kStagedBytes;

  /// First row and column of the calling warp's part.
  static __device__ int warp_row() { return simt::warp_id() / kWarpColumns * kWarpM; }
  static __device__ int warp_column() { return simt::warp_id() % kWarpColumns * kWarpN; }
};

// A warp of 64 x 64 reads 1.0 byte of shared memory for 16 products, one of 64 x 32 reads 1.5: wide tiles are
// for products that are bound by arithmetic, narrow ones for few rows or columns, and for grids that would
// leave multiprocessors idle.
using Tile128x128 = Tile<128, 128, 2, 2, 3>;
using Tile128x64 = Tile<128, 64, 2, 2, 3>;
using Tile64x64 = Tile<64, 64, 2, 2, 3>;
/// Of 8 warps: fragments of 32-bit operands are plain loads in part, whose places would not fit the registers
/// beside 128 accumulators.
using Tile128x128Of8 = Tile<128, 128, 2, 4, 3>;
using Tile64x32 = Tile<64, 32, 2, 1, 4>;

}  // namespace trireme::kernels
