// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/matrix.h"

#include <algorithm>
#include <bit>

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/emulator/bytes.h"
#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/emulator/settings.h"

// The loops below are the emulator's arithmetic; both versions give the same bits, as nothing is fused.
#if defined(__x86_64__) && !defined(__clang__)
#define SIMT_VECTORISED __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define SIMT_VECTORISED
#endif

namespace trireme::simt::emulator {
namespace {

constexpr int kMaxRows = 8, kMaxColumns = 16;  // of a warp's tile, in mma
constexpr int kDepth = 16;                     // k of one mma of 16-bit types

/// a [rows][kDepth] in rows, b [kDepth][columns], d [rows][columns].
struct Operands {
  alignas(64) float a[16 * kMaxRows][kDepth];
  alignas(64) float b[kDepth][8 * kMaxColumns];
  alignas(64) float d[16 * kMaxRows][8 * kMaxColumns];
};

Operands& operands() {
  static thread_local Operands operands;
  return operands;
}

float bfloat16_value(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}
float half_value(std::uint32_t bits) {
  return __half2float(__half(__half_raw{static_cast<unsigned short>(bits)}));
}

/// The two elements of a register of a 16-bit type.
template <MatrixType kType>
void unpack(std::uint32_t fragment, float& low, float& high) {
  if constexpr (kType == MatrixType::bfloat16) {
    low = bfloat16_value(fragment & 0xFFFFU);
    high = bfloat16_value(fragment >> 16);
  } else {
    low = half_value(fragment & 0xFFFFU);
    high = half_value(fragment >> 16);
  }
}

float tf32_value(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0xFFFFE000U);
}

template <MatrixType kType>
void gather(Operands& operands, int rows, int columns, void* const* lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    const auto& tile = *static_cast<const MultiplyTile*>(lanes[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < rows; ++i)
      for (int part = 0; part < 4; ++part) {
        float* row = operands.a[16 * i + g + 8 * (part % 2)];
        if constexpr (kType == MatrixType::tf32)
          row[t + 4 * (part / 2)] = tf32_value(tile.a[4 * i + part]);
        else
          unpack<kType>(tile.a[4 * i + part], row[2 * t + 8 * (part / 2)], row[2 * t + 8 * (part / 2) + 1]);
      }
    for (int j = 0; j < columns; ++j)
      for (int part = 0; part < 2; ++part) {
        const int column = 8 * j + g;
        if constexpr (kType == MatrixType::tf32) {
          operands.b[t + 4 * part][column] = tf32_value(tile.b[2 * j + part]);
        } else {
          const int k = 2 * t + 8 * part;
          unpack<kType>(tile.b[2 * j + part], operands.b[k][column], operands.b[k + 1][column]);
        }
      }
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        for (int part = 0; part < 4; ++part)
          operands.d[16 * i + g + 8 * (part / 2)][8 * j + 2 * t + part % 2] =
              tile.d[4 * (columns * i + j) + part];
  }
}

void scatter(const Operands& operands, int rows, int columns, void* const* lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    const auto& tile = *static_cast<const MultiplyTile*>(lanes[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        for (int part = 0; part < 4; ++part)
          tile.d[4 * (columns * i + j) + part] =
              operands.d[16 * i + g + 8 * (part / 2)][8 * j + 2 * t + part % 2];
  }
}

SIMT_VECTORISED
void multiply(Operands& operands, int rows, int columns, int depth) {
  for (int row = 0; row < rows; ++row) {
    float* __restrict d = operands.d[row];
    for (int k = 0; k < depth; ++k) {
      const float a = operands.a[row][k];
      const float* __restrict b = operands.b[k];
      for (int column = 0; column < columns; column += 8)
        for (int i = 0; i < 8; ++i) d[column + i] += a * b[column + i];
    }
  }
}

}  // namespace

void multiply_tile(MatrixType type, int rows, int columns, void* const* lanes) {
  Operands& tile = operands();
  if (rows > kMaxRows || columns > kMaxColumns)
    fail({"", 0}, "multiplies a warp tile of %d x %d mma: at most %d x %d", rows, columns, kMaxRows,
         kMaxColumns);
  switch (type) {
    case MatrixType::bfloat16:
      gather<MatrixType::bfloat16>(tile, rows, columns, lanes);
      break;
    case MatrixType::half:
      gather<MatrixType::half>(tile, rows, columns, lanes);
      break;
    case MatrixType::tf32:
      gather<MatrixType::tf32>(tile, rows, columns, lanes);
      break;
  }
  const int depth = type == MatrixType::tf32 ? kDepth / 2 : kDepth;
  multiply(tile, 16 * rows, 8 * columns, depth);
  scatter(tile, rows, columns, lanes);
  if (settings().counting) count_flops(2LL * 16 * rows * 8 * columns * depth);
}

template <bool kTranspose>
void load_matrices(void* const* lanes, std::uint32_t /*mask*/) {
  const int count = static_cast<const LoadMatrix*>(lanes[0])->count;
  const Site site = static_cast<const LoadMatrix*>(lanes[0])->site;
  for (int i = 0; i < count; ++i) {
    const void* rows[32];
    for (int lane = 0; lane < 32; ++lane) {
      rows[lane] = static_cast<const LoadMatrix*>(lanes[lane])->rows[i];
      check_shared_row(rows[lane], site);
    }
    if (settings().counting) count_matrix_rows(rows, site);
    for (int part = 0; part < 4; ++part)
      for (int lane = 0; lane < 32; ++lane) {
        std::uint32_t& fragment = static_cast<LoadMatrix*>(lanes[lane])->fragments[4 * i + part];
        const int g = lane / 4, t = lane % 4;
        if constexpr (kTranspose) {
          const auto* upper = static_cast<const std::uint16_t*>(rows[8 * part + 2 * t]);
          const auto* lower = static_cast<const std::uint16_t*>(rows[8 * part + 2 * t + 1]);
          fragment = upper[g] | static_cast<std::uint32_t>(lower[g]) << 16;
        } else {
          fragment = static_cast<const std::uint32_t*>(rows[8 * part + g])[t];
        }
      }
  }
}
template void load_matrices<false>(void* const* lanes, std::uint32_t mask);
template void load_matrices<true>(void* const* lanes, std::uint32_t mask);

void store_matrix(void* const* lanes, std::uint32_t /*mask*/) {
  const void* rows[32];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& arguments = *static_cast<const StoreMatrix*>(lanes[lane]);
    rows[lane] = arguments.row;
    check_shared_row(arguments.row, arguments.site);
  }
  if (settings().counting) count_matrix_rows(rows, static_cast<const StoreMatrix*>(lanes[0])->site);
  for (int part = 0; part < 4; ++part)
    for (int lane = 0; lane < 32; ++lane)
      static_cast<std::uint32_t*>(const_cast<void*>(rows[8 * part + lane / 4]))[lane % 4] =
          static_cast<const StoreMatrix*>(lanes[lane])->fragment[part];
}

}  // namespace trireme::simt::emulator
