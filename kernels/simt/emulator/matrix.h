// SPDX-License-Identifier: Apache-2.0
// The arithmetic of matrix fragments, for all lanes of a warp at once. Layouts: device.cuh.
#pragma once

#include <cstdint>

#include "kernels/simt/emulator/site.h"
#include "kernels/simt/vector16.h"

namespace trireme::simt::emulator {

/// One lane's part of `count` ldmatrix .x4.
struct LoadMatrix {
  const void* const* rows;   ///< [count]
  std::uint32_t* fragments;  ///< [count][4]
  int count;
  Site site;
};
template <bool kTranspose>
void load_matrices(void* const* lanes, std::uint32_t mask);

struct StoreMatrix {
  void* row;
  const std::uint32_t* fragment;  ///< [4]
  Site site;
};
void store_matrix(void* const* lanes, std::uint32_t mask);

/// One lane's part of a tile of Rows x Columns mma.
struct MultiplyTile {
  float* d;                ///< [Rows][Columns][4]
  const std::uint32_t* a;  ///< [Rows][4]
  const std::uint32_t* b;  ///< [Columns][2]
};

enum class MatrixType { bfloat16, half, tf32 };
void multiply_tile(MatrixType type, int rows, int columns, void* const* lanes);

template <typename T>
constexpr MatrixType kMatrixType = MatrixType::tf32;
template <>
inline constexpr MatrixType kMatrixType<BFloat16> = MatrixType::bfloat16;
template <>
inline constexpr MatrixType kMatrixType<Half> = MatrixType::half;

template <typename T, int Rows, int Columns>
void multiply_tiles(void* const* lanes, std::uint32_t /*mask*/) {
  multiply_tile(kMatrixType<T>, Rows, Columns, lanes);
}

}  // namespace trireme::simt::emulator
