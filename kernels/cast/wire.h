// SPDX-License-Identifier: Apache-2.0
// Gradients to what travels between ranks and back: rounding to 16 bits with error feedback, and copies of
// what travels as fp32. A bucket is a list of pieces of the flat gradient buffer that lie back to back in a
// staging buffer; one launch serves the whole list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/numeric.h"

namespace trireme::kernels {

/// Elements [flat, flat + count) of the flat buffers are elements [staged, staged + count) of the staging
/// buffer.
struct WirePiece {
  std::int64_t flat = 0, staged = 0, count = 0;
};

/// A piece, or a part of one, that a block takes: at most kWireTile elements.
using WireTile = WirePiece;
constexpr int kWireTile = 4096;

/// The pieces cut into tiles. Where both places of a piece are multiples of 8 elements, its tiles are read
/// and written by 16-byte accesses, else element by element.
std::vector<WireTile> make_wire_tiles(std::span<const WirePiece> pieces);

/// A list of tiles in device memory.
struct WireTiles {
  const WireTile* tiles = nullptr;
  int count = 0;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(tiles);
  }
};

/// With value = gradients + residual: staged = value rounded to T (BFloat16 or Half: nearest, ties to even,
/// every NaN quiet with its sign), residual = value - staged, or 0 where that is not finite. Flat: gradients,
/// residual. All buffers are 16-byte aligned. The same bits as the host's wire.
template <typename T>
void round_to_wire(const WireTiles& tiles, const float* gradients, float* residual, T* staged,
                   cudaStream_t stream);

/// gradients = staged, of BFloat16, Half or float.
template <typename T>
void copy_from_wire(const WireTiles& tiles, const T* staged, float* gradients, cudaStream_t stream);

/// staged = gradients, for what travels as fp32.
void copy_to_wire(const WireTiles& tiles, const float* gradients, float* staged, cudaStream_t stream);

}  // namespace trireme::kernels
