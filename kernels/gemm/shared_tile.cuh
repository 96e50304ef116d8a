// SPDX-License-Identifier: Apache-2.0
// Tiles of operands in shared memory, and the swizzles that keep their banks free of conflicts.
//
// An operand is the matrix [extent along m or n][k]. Where k is contiguous in global memory (Major::k), a row
// of the tile holds the 128 bytes of k of one m (or n); where m (or n) is contiguous (Major::mn), a row holds
// the whole extent of one k. Both are written by 16-byte copies of neighbouring lanes along the row, and a
// copy of 8 lanes is free of conflicts when these land in 8 different columns of 16 bytes of the 32 banks.
// Readers go across rows:
// - ldmatrix reads one chunk of 8 neighbouring rows. With rows of 128 bytes or more the chunk is exchanged
// with
//   chunk ^ (row mod 8): 8 different columns. Rows of 64 bytes share a line in twos, so chunk ^ (row / 2 mod
//   4).
// - 32-bit elements with Major::mn cannot be transposed by ldmatrix (it moves pairs of 16 bits). Lane (g, t)
// of an
//   mma reads element (k = t, m = g) by itself: 8 neighbours of 4 rows, so chunk ^ 2 (row mod 4) makes the
//   rows differ by 8 banks.
#pragma once

#include "kernels/gemm/tile.h"

namespace trireme::kernels {

enum class Major { k, mn };

template <typename T, Major kMajor, int kExtent>
struct SharedTile {
  static constexpr int kRows = kMajor == Major::k ? kExtent : kTileK<T>;
  static constexpr int kChunks =
      kMajor == Major::k ? kTileRowChunks : kExtent * static_cast<int>(sizeof(T)) / kChunkBytes;
  static constexpr int kBytes = kExtent * kTileRowBytes;
  static_assert(kChunks >= 4 && (kChunks & (kChunks - 1)) == 0, "the swizzles are made for these");

  /// Bytes from the tile's begin to a chunk of a row.
  static __device__ int offset(int row, int chunk) {
    int swizzle = row & 7;
    if constexpr (kMajor == Major::mn && sizeof(T) == 4) {
      static_assert(kChunks >= 8, "rows of 32-bit elements are whole lines");
      swizzle = 2 * (row & 3);
    } else if constexpr (kChunks == 4) {
      swizzle = row >> 1 & 3;
    }
    return (row * kChunks + (chunk ^ swizzle)) * kChunkBytes;
  }
};

/// Which chunks of a tile a thread copies: one column of chunks, and every kStep-th row.
template <typename SharedTile, int kThreads>
struct CopyMap {
  static constexpr int kStep = kThreads / SharedTile::kChunks;
  static constexpr int kCopies = SharedTile::kRows / kStep;
  static_assert(kThreads % SharedTile::kChunks == 0 && SharedTile::kRows % kStep == 0,
                "every thread copies alike");

  static __device__ int column() { return static_cast<int>(threadIdx.x) % SharedTile::kChunks; }
  static __device__ int row(int copy) {
    return static_cast<int>(threadIdx.x) / SharedTile::kChunks + copy * kStep;
  }
  static __device__ unsigned char* destination(unsigned char* tile, int copy) {
    return tile + SharedTile::offset(row(copy), column());
  }
  static __device__ const unsigned char* source(const unsigned char* tile, int copy) {
    return tile + SharedTile::offset(row(copy), column());
  }
};

}  // namespace trireme::kernels
