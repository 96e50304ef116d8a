// SPDX-License-Identifier: Apache-2.0
// A transposition of each picture, [pixels][channels] to [channels][pixels], by tiles in shared memory. The
// side with channels innermost is read or written in 16-byte vectors; the other one, whose rows of pixels
// start anywhere, element by element, neighbouring threads at neighbouring addresses:
//
//        x: 64 channels                tile                      y: 32 pixels
//   32   vectors v0 v1 ... v7   ->   [channel][pixel]   ->   64  elements p0 p1 p2 ...
//  pixels                                                 channels
#include <stdexcept>

#include "kernels/elementwise/elementwise.h"
#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kTileChannels = 64, kTilePixels = 32;
constexpr int kRow = kTilePixels + 1;  // an odd number of words: columns hit different banks

struct FlattenTile {
  std::int64_t picture, features;  ///< first element of this sample's picture, and of its features
  int pixels, channels, pitch;
  int pixel, channel;  ///< first ones of the tile

  static __device__ __forceinline__ FlattenTile of(const FlattenShape& shape) {
    const auto n = static_cast<std::int64_t>(blockIdx.z);
    return {n * shape.pixels * shape.pitch,
            n * shape.feature_pitch,
            shape.pixels,
            shape.channels,
            shape.pitch,
            static_cast<int>(blockIdx.x) * kTilePixels,
            static_cast<int>(blockIdx.y) * kTileChannels};
  }

  /// Calls body(channel, pixel, index in the picture) for this thread's vectors, channel and pixel counted in
  /// the tile.
  template <typename T, typename Body>
  __device__ __forceinline__ void for_vectors(const Body& body) const {
    constexpr int kVectors = kTileChannels / kVectorSize<T>;
    for (int item = static_cast<int>(threadIdx.x); item < kTilePixels * kVectors; item += kThreads) {
      const int p = item / kVectors, c = item % kVectors * kVectorSize<T>;
      if (pixel + p < pixels && channel + c < pitch)
        body(c, p, picture + static_cast<std::int64_t>(pixel + p) * pitch + channel + c);
    }
  }
  /// The same for single elements of the features.
  template <typename Body>
  __device__ __forceinline__ void for_features(const Body& body) const {
    for (int item = static_cast<int>(threadIdx.x); item < kTileChannels * kTilePixels; item += kThreads) {
      const int c = item / kTilePixels, p = item % kTilePixels;
      if (pixel + p < pixels && channel + c < channels)
        body(c, p, features + static_cast<std::int64_t>(channel + c) * pixels + pixel + p);
    }
  }
};

/// FlattenShape as a kernel argument.
struct FlattenArgument : FlattenShape {
  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit) const {}
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    flatten_forward_tiled_kernel(T* y, const T* x, FlattenArgument shape) {
  SIMT_SHARED(float, tile, kTileChannels* kRow);
  const FlattenTile at = FlattenTile::of(shape);
  at.for_vectors<T>([&](int c, int p, std::int64_t index) {
    const simt::Vector16<T> vector = simt::load16(x + index);
    SIMT_UNROLL
    for (int v = 0; v < kVectorSize<T>; ++v) tile[(c + v) * kRow + p] = to_float(vector[v]);
  });
  __syncthreads();
  at.for_features(
      [&](int c, int p, std::int64_t index) { simt::store(y + index, from_float<T>(tile[c * kRow + p])); });
  if (blockIdx.x != 0 || blockIdx.y != 0) return;
  const int used = shape.pixels * shape.channels;
  for (int i = used + static_cast<int>(threadIdx.x); i < shape.feature_pitch; i += kThreads)
    simt::store(y + at.features + i, from_float<T>(0.0F));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    flatten_backward_tiled_kernel(T* dx, const T* dy, FlattenArgument shape) {
  SIMT_SHARED(float, tile, kTileChannels* kRow);
  const FlattenTile at = FlattenTile::of(shape);
  at.for_features(
      [&](int c, int p, std::int64_t index) { tile[c * kRow + p] = to_float(simt::load(dy + index)); });
  __syncthreads();
  at.for_vectors<T>([&](int c, int p, std::int64_t index) {
    float values[kVectorSize<T>];
    SIMT_UNROLL
    for (int v = 0; v < kVectorSize<T>; ++v)
      values[v] = at.channel + c + v < at.channels ? tile[(c + v) * kRow + p] : 0.0F;
    simt::store16(dx + index, pack<T>(values));
  });
}

template <typename T>
dim3 tiles_of(const FlattenShape& s) {
  const bool is_sound = s.batch > 0 && s.pixels > 0 && s.channels > 0 && s.pitch >= s.channels &&
                        s.pitch % kVectorSize<T> == 0 && s.feature_pitch >= s.pixels * s.channels &&
                        s.feature_pitch % kVectorSize<T> == 0 && s.batch <= 65535;
  if (!is_sound) throw std::invalid_argument("flatten: pitches are too small or no whole 16-byte vectors");
  return {static_cast<unsigned>(divide_up(s.pixels, kTilePixels)),
          static_cast<unsigned>(divide_up(s.pitch, kTileChannels)), static_cast<unsigned>(s.batch)};
}

}  // namespace

template <typename T>
void flatten_forward(T* y, const T* x, const FlattenShape& shape, cudaStream_t stream) {
  SIMT_LAUNCH((flatten_forward_tiled_kernel<T>), tiles_of<T>(shape), kThreads, 0, stream, y, x,
              FlattenArgument{shape});
}

template <typename T>
void flatten_backward(T* dx, const T* dy, const FlattenShape& shape, cudaStream_t stream) {
  SIMT_LAUNCH((flatten_backward_tiled_kernel<T>), tiles_of<T>(shape), kThreads, 0, stream, dx, dy,
              FlattenArgument{shape});
}

#define TRIREME_INSTANTIATE(T)                                                       \
  template void flatten_forward<T>(T*, const T*, const FlattenShape&, cudaStream_t); \
  template void flatten_backward<T>(T*, const T*, const FlattenShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
