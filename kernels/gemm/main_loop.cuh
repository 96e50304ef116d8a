// SPDX-License-Identifier: Apache-2.0
// The main loop of all matrix products: c[m][n] = sum over k of a[m][k] b[n][k].
//
// Copies from global to shared memory run kStages - 1 steps ahead of the arithmetic. One barrier a step
// serves both ways: behind it the tile of this step is there for all threads (each has waited for its own
// copies), and everybody has finished with the tile of the step before, whose place takes the next copy.
//
// A loader gives one operand: `load(tile)` starts the copies of the next step along k into `tile`, laid out
// as SharedTile<T, Loader::kMajor, extent>; it is called once a step, in order.
#pragma once

#include "kernels/gemm/fragments.cuh"

namespace trireme::kernels {

/// A thread's part of the result, in the layout of mma's d.
template <typename Tile>
using Accumulators = float[Tile::kMmaRows][Tile::kMmaColumns][4];

template <typename T, typename Tile, Major kMajorA, Major kMajorB>
__device__ __forceinline__ void multiply_stage(Accumulators<Tile>& sums, const unsigned char* a_tile,
                                               const unsigned char* b_tile) {
  SIMT_UNROLL
  for (int step = 0; step < kStepsOfTile; ++step) {
    std::uint32_t a[Tile::kMmaRows][4];
    std::uint32_t b[Tile::kMmaColumns][2];
    load_a<T, kMajorA, Tile::kM>(a, a_tile, Tile::warp_row(), step);
    load_b<T, kMajorB, Tile::kN>(b, b_tile, Tile::warp_column(), step);
    simt::warp_mma<T, Tile::kMmaRows, Tile::kMmaColumns>(sums, a, b);
  }
}

/// The same in fp32: lane (g, t) has rows g and g + 8, columns 2t and 2t + 1 of each mma's tile.
template <typename Tile, Major kMajorA, Major kMajorB>
__device__ __forceinline__ void multiply_stage_fp32(Accumulators<Tile>& sums, const unsigned char* a_tile,
                                                    const unsigned char* b_tile) {
  const int row = Tile::warp_row() + simt::lane_id() / 4;
  const int column = Tile::warp_column() + simt::lane_id() % 4 * 2;
  SIMT_NO_UNROLL
  for (int chunk = 0; chunk < kTileRowChunks; ++chunk) {
    float a[2 * Tile::kMmaRows][4];
    SIMT_UNROLL
    for (int i = 0; i < 2 * Tile::kMmaRows; ++i)
      load_four<kMajorA, Tile::kM>(a[i], a_tile, row + 8 * i, chunk);
    SIMT_UNROLL
    for (int j = 0; j < 2 * Tile::kMmaColumns; ++j) {
      float b[4];
      load_four<kMajorB, Tile::kN>(b, b_tile, column + j / 2 * 8 + j % 2, chunk);
      SIMT_UNROLL
      for (int i = 0; i < 2 * Tile::kMmaRows; ++i) SIMT_UNROLL
      for (int k = 0; k < 4; ++k) {
        float& sum = sums[i / 2][j / 2][i % 2 * 2 + j % 2];
        sum = fmaf(a[i][k], b[k], sum);
      }
    }
  }
}

struct NothingElse {
  __device__ void operator()(const unsigned char* /*a_tile*/) const {}
};

/// sums = a b over `steps` tiles along k; `shared` holds Tile::kSharedBytes. `also(a_tile)` is called for
/// each tile of a. On return all copies have arrived, but other warps may still read the tiles.
template <typename T, typename Tile, typename LoaderA, typename LoaderB, typename Also = NothingElse>
__device__ __forceinline__ void multiply(Accumulators<Tile>& sums, unsigned char* shared, int steps,
                                         LoaderA& loader_a, LoaderB& loader_b, const Also& also = {}) {
  SIMT_UNROLL
  for (int i = 0; i < Tile::kMmaRows; ++i) SIMT_UNROLL
  for (int j = 0; j < Tile::kMmaColumns; ++j) SIMT_UNROLL
  for (int r = 0; r < 4; ++r) sums[i][j][r] = 0;

  constexpr int kBytesA = Tile::kM * kTileRowBytes;
  constexpr int kAhead = Tile::kStages - 1;
  SIMT_UNROLL
  for (int stage = 0; stage < kAhead; ++stage) {
    if (stage < steps) {
      loader_a.load(shared + stage * Tile::kStageBytes);
      loader_b.load(shared + stage * Tile::kStageBytes + kBytesA);
    }
    simt::cp_async_commit();
  }
  int read = 0, write = kAhead;
  SIMT_NO_UNROLL
  for (int step = 0; step < steps; ++step) {
    simt::cp_async_wait<Tile::kStages - 2>();
    __syncthreads();
    if (step + kAhead < steps) {
      loader_a.load(shared + write * Tile::kStageBytes);
      loader_b.load(shared + write * Tile::kStageBytes + kBytesA);
    }
    simt::cp_async_commit();  // empty at the end, so that the count of groups to wait for stays the same
    const unsigned char* tile = shared + read * Tile::kStageBytes;
    if constexpr (std::is_same_v<T, float>)
      multiply_stage_fp32<Tile, LoaderA::kMajor, LoaderB::kMajor>(sums, tile, tile + kBytesA);
    else
      multiply_stage<T, Tile, LoaderA::kMajor, LoaderB::kMajor>(sums, tile, tile + kBytesA);
    also(tile);
    read = read + 1 == Tile::kStages ? 0 : read + 1;
    write = write + 1 == Tile::kStages ? 0 : write + 1;
  }
  simt::cp_async_wait<0>();
}

}  // namespace trireme::kernels
