// SPDX-License-Identifier: Apache-2.0
// Fragments of mma (layouts: kernels/simt/device.cuh) out of tiles in shared memory. One step along k is 32
// bytes: 16 elements of 16 bits or 8 of 32 bits, so that ldmatrix, which moves rows of 16 bytes, serves both
// where k is contiguous.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/gemm/shared_tile.cuh"

namespace trireme::kernels {

constexpr int kStepsOfTile = kTileRowBytes / 32;

/// Tensor cores would cut off the lower bits of a tf32 operand, which biases sums: it is rounded before.
template <typename T>
__device__ __forceinline__ std::uint32_t rounded_operand(std::uint32_t bits) {
  if constexpr (sizeof(T) == 4) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return simt::to_tf32(value);
  } else {
    return bits;
  }
}

/// The element (k, mn) of a 32-bit tile with Major::mn.
template <typename SharedTile>
__device__ __forceinline__ float element_32(const unsigned char* tile, int k, int mn) {
  return *reinterpret_cast<const float*>(tile + SharedTile::offset(k, mn / 4) + mn % 4 * 4);
}

/// a of kCount mma: rows first, first + 16, ... of the tile. Matrices of one ldmatrix: (rows 0-7, first 16
/// bytes), (rows 8-15, first), (rows 0-7, second), (rows 8-15, second).
template <typename T, Major kMajor, int kExtent, int kCount>
__device__ __forceinline__ void load_a(std::uint32_t (&a)[kCount][4], const unsigned char* tile, int first,
                                       int step) {
  using Shared = SharedTile<T, kMajor, kExtent>;
  const int lane = simt::lane_id();
  if constexpr (kMajor == Major::mn && sizeof(T) == 4) {
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i) SIMT_UNROLL
    for (int j = 0; j < 4; ++j)
      a[i][j] = simt::to_tf32(
          element_32<Shared>(tile, 8 * step + lane % 4 + j / 2 * 4, first + 16 * i + lane / 4 + j % 2 * 8));
  } else {
    const void* rows[kCount];
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i)
      rows[i] = kMajor == Major::k ? tile + Shared::offset(first + 16 * i + lane % 16, 2 * step + lane / 16)
                                   : tile + Shared::offset(16 * step + lane / 16 * 8 + lane % 8,
                                                           first / 8 + 2 * i + lane / 8 % 2);
    simt::warp_ldmatrix<kCount, kMajor == Major::mn>(a, rows);
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i) SIMT_UNROLL
    for (int j = 0; j < 4; ++j) a[i][j] = rounded_operand<T>(a[i][j]);
  }
}

/// b of kCount mma: columns first, first + 8, ... Matrices of one ldmatrix: (columns 0-7, first 16 bytes of
/// k), (columns 0-7, second), (columns 8-15, first), (columns 8-15, second).
template <typename T, Major kMajor, int kExtent, int kCount>
__device__ __forceinline__ void load_b(std::uint32_t (&b)[kCount][2], const unsigned char* tile, int first,
                                       int step) {
  using Shared = SharedTile<T, kMajor, kExtent>;
  const int lane = simt::lane_id();
  if constexpr (kMajor == Major::mn && sizeof(T) == 4) {
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i) SIMT_UNROLL
    for (int j = 0; j < 2; ++j)
      b[i][j] =
          simt::to_tf32(element_32<Shared>(tile, 8 * step + lane % 4 + j * 4, first + 8 * i + lane / 4));
  } else {
    constexpr int kPairs = kCount / 2;
    const void* rows[kPairs];
    std::uint32_t pairs[kPairs][4];
    SIMT_UNROLL
    for (int i = 0; i < kPairs; ++i)
      rows[i] =
          kMajor == Major::k
              ? tile + Shared::offset(first + 16 * i + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2)
              : tile + Shared::offset(16 * step + lane % 16, first / 8 + 2 * i + lane / 16);
    simt::warp_ldmatrix<kPairs, kMajor == Major::mn>(pairs, rows);
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i) SIMT_UNROLL
    for (int j = 0; j < 2; ++j) b[i][j] = rounded_operand<T>(pairs[i / 2][i % 2 * 2 + j]);
  }
}

/// Four values along k of one m or n, for arithmetic without tensor cores.
template <Major kMajor, int kExtent>
__device__ __forceinline__ void load_four(float (&values)[4], const unsigned char* tile, int mn, int chunk) {
  using Shared = SharedTile<float, kMajor, kExtent>;
  if constexpr (kMajor == Major::k) {
    const auto vector = *reinterpret_cast<const simt::Vector16<float>*>(tile + Shared::offset(mn, chunk));
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) values[j] = vector.values[j];
  } else {
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) values[j] = element_32<Shared>(tile, 4 * chunk + j, mn);
  }
}

}  // namespace trireme::kernels
