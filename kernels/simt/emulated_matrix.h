// SPDX-License-Identifier: Apache-2.0
// Matrix fragments: what device.cuh says of them holds here too.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/emulator/matrix.h"
#include "kernels/simt/vector16.h"

namespace trireme::simt {

template <int N, bool kTranspose>
void warp_ldmatrix(std::uint32_t (&fragments)[N][4], const void* const (&rows)[N],
                   emulator::Site site = emulator::Site::here()) {
  for (const void* row : rows) emulator::note_shared_row(row, false, site);
  emulator::LoadMatrix arguments{rows, &fragments[0][0], N, site};
  emulator::warp_collective(kTranspose ? "ldmatrix.trans" : "ldmatrix", emulator::load_matrices<kTranspose>,
                            kFullMask, &arguments, site);
}
template <bool kTranspose>
void ldmatrix_x4(std::uint32_t (&fragment)[4], const void* row,
                 emulator::Site site = emulator::Site::here()) {
  emulator::note_shared_row(row, false, site);
  emulator::LoadMatrix arguments{&row, fragment, 1, site};
  emulator::warp_collective(kTranspose ? "ldmatrix.trans" : "ldmatrix", emulator::load_matrices<kTranspose>,
                            kFullMask, &arguments, site);
}
inline void stmatrix_x4(void* row, const std::uint32_t (&fragment)[4],
                        emulator::Site site = emulator::Site::here()) {
  emulator::note_shared_row(row, true, site);
  emulator::StoreMatrix arguments{row, fragment, site};
  emulator::warp_collective("stmatrix", emulator::store_matrix, kFullMask, &arguments, site);
}

inline std::uint32_t to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_special = (bits & 0x7F800000U) == 0x7F800000U;
  return (is_special ? bits : bits + 0x1000U) & 0xFFFFE000U;
}

template <typename T, int Rows, int Columns>
void warp_mma(float (&d)[Rows][Columns][4], const std::uint32_t (&a)[Rows][4],
              const std::uint32_t (&b)[Columns][2], emulator::Site site = emulator::Site::here()) {
  emulator::MultiplyTile arguments{&d[0][0][0], &a[0][0], &b[0][0]};
  emulator::warp_collective("mma", emulator::multiply_tiles<T, Rows, Columns>, kFullMask, &arguments, site);
}
template <typename T>
void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
         emulator::Site site = emulator::Site::here()) {
  emulator::MultiplyTile arguments{d, a, b};
  emulator::warp_collective("mma", emulator::multiply_tiles<T, 1, 1>, kFullMask, &arguments, site);
}

}  // namespace trireme::simt
