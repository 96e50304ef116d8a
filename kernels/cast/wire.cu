// SPDX-License-Identifier: Apache-2.0
// Error feedback: what rounding leaves over stays with the rank and is added to its next gradient, so the
// sent values of all steps and the last residual add up to the gradients of all steps. value - sent is exact
// in fp32.
#include "kernels/cast/wire.h"

#include <algorithm>

#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = 8;

/// Element-wise work of the three directions. `Staged` is the staging buffer's type; flat buffers are fp32.
template <typename T>
struct Round {
  using Staged = T;
  const float* gradients;
  float* residual;
  T* staged;

  __device__ __forceinline__ static T one(float gradient, float& left) {
    const float value = gradient + left;
    const T rounded = from_float<T>(value);
    const float rest = value - to_float(rounded);
    left = rest - rest == 0.0F ? rest : 0.0F;
    return rounded;
  }
  __device__ __forceinline__ void element(std::int64_t flat, std::int64_t at) const {
    float left = simt::load(residual + flat);
    simt::store(staged + at, one(simt::load(gradients + flat), left));
    simt::store(residual + flat, left);
  }
  __device__ __forceinline__ void group(std::int64_t flat, std::int64_t at) const {
    simt::Vector16<T> rounded;
    SIMT_UNROLL
    for (int part = 0; part < kGroup; part += 4) {
      const auto gradient = simt::load16(gradients + flat + part);
      auto left = simt::load16(residual + flat + part);
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) rounded[part + i] = one(gradient[i], left[i]);
      simt::store16(residual + flat + part, left);
    }
    simt::store16(staged + at, rounded);
  }
  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(gradients);
    visit(residual);
    visit(staged);
  }
};

template <typename T>
struct Widen {
  const T* staged;
  float* gradients;

  __device__ __forceinline__ void element(std::int64_t flat, std::int64_t at) const {
    simt::store(gradients + flat, to_float(simt::load(staged + at)));
  }
  __device__ __forceinline__ void group(std::int64_t flat, std::int64_t at) const {
    constexpr int kSize = kVectorSize<T>;
    float values[kGroup];
    SIMT_UNROLL
    for (int part = 0; part < kGroup; part += kSize) {
      const auto vector = simt::load16(staged + at + part);
      SIMT_UNROLL
      for (int i = 0; i < kSize; ++i) values[part + i] = to_float(vector[i]);
    }
    store_channels(gradients + flat, values);
  }
  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(staged);
    visit(gradients);
  }
};

struct CopyOut {
  const float* gradients;
  float* staged;

  __device__ __forceinline__ void element(std::int64_t flat, std::int64_t at) const {
    simt::store(staged + at, simt::load(gradients + flat));
  }
  __device__ __forceinline__ void group(std::int64_t flat, std::int64_t at) const {
    SIMT_UNROLL
    for (int part = 0; part < kGroup; part += 4)
      simt::store16(staged + at + part, simt::load16(gradients + flat + part));
  }
  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(gradients);
    visit(staged);
  }
};

template <typename Direction>
__global__ void __launch_bounds__(kThreads) wire_cast_tile_kernel(WireTiles tiles, Direction direction) {
  const WireTile* const tile = tiles.tiles + blockIdx.x;
  const std::int64_t flat = simt::load(&tile->flat), staged = simt::load(&tile->staged);
  const auto count = static_cast<int>(simt::load(&tile->count));
  const bool is_aligned = flat % kGroup == 0 && staged % kGroup == 0;
  const int grouped = is_aligned ? count / kGroup * kGroup : 0;
  for (int i = static_cast<int>(threadIdx.x) * kGroup; i < grouped; i += kThreads * kGroup)
    direction.group(flat + i, staged + i);
  for (int i = grouped + static_cast<int>(threadIdx.x); i < count; i += kThreads)
    direction.element(flat + i, staged + i);
}

template <typename Direction>
void launch_tiles(const WireTiles& tiles, const Direction& direction, cudaStream_t stream) {
  if (tiles.count == 0) return;
  SIMT_LAUNCH(wire_cast_tile_kernel<Direction>, static_cast<unsigned>(tiles.count), kThreads, 0, stream,
              tiles, direction);
}

}  // namespace

std::vector<WireTile> make_wire_tiles(std::span<const WirePiece> pieces) {
  std::vector<WireTile> tiles;
  for (const WirePiece& piece : pieces)
    for (std::int64_t at = 0; at < piece.count; at += kWireTile)
      tiles.push_back(
          {piece.flat + at, piece.staged + at, std::min<std::int64_t>(kWireTile, piece.count - at)});
  return tiles;
}

template <typename T>
void round_to_wire(const WireTiles& tiles, const float* gradients, float* residual, T* staged,
                   cudaStream_t stream) {
  launch_tiles(tiles, Round<T>{gradients, residual, staged}, stream);
}

template <typename T>
void copy_from_wire(const WireTiles& tiles, const T* staged, float* gradients, cudaStream_t stream) {
  launch_tiles(tiles, Widen<T>{staged, gradients}, stream);
}

void copy_to_wire(const WireTiles& tiles, const float* gradients, float* staged, cudaStream_t stream) {
  launch_tiles(tiles, CopyOut{gradients, staged}, stream);
}

template void round_to_wire(const WireTiles&, const float*, float*, BFloat16*, cudaStream_t);
template void round_to_wire(const WireTiles&, const float*, float*, Half*, cudaStream_t);
template void copy_from_wire(const WireTiles&, const BFloat16*, float*, cudaStream_t);
template void copy_from_wire(const WireTiles&, const Half*, float*, cudaStream_t);
template void copy_from_wire(const WireTiles&, const float*, float*, cudaStream_t);

}  // namespace trireme::kernels
