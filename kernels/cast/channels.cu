// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/channels.h"

#include <stdexcept>

#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kPixelsPerThread = 4;

/// A thread makes four channels, from 4 blockIdx.y on, of some pixels: 8 or 16 bytes of each.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    cast_to_pitch_kernel(T* to, int pitch, const float* from, int channels, std::int64_t pixels) {
  const int c = static_cast<int>(blockIdx.y) * 4;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kThreads * kPixelsPerThread;
  SIMT_UNROLL
  for (int k = 0; k < kPixelsPerThread; ++k) {
    const std::int64_t pixel = begin + k * kThreads + static_cast<int>(threadIdx.x);
    if (pixel >= pixels) return;
    FourElements<T> four;
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i)
      four.values[i] = from_float<T>(c + i < channels ? simt::load(from + pixel * channels + c + i) : 0.0F);
    simt::store(reinterpret_cast<FourElements<T>*>(to + pixel * pitch + c), four);
  }
}

}  // namespace

template <typename T>
void cast_to_pitch(T* to, int pitch, const float* from, int channels, std::int64_t pixels,
                   cudaStream_t stream) {
  if (channels <= 0 || pitch < channels || pitch % 4 != 0)
    throw std::invalid_argument("cast_to_pitch: the pitch is no multiple of 4 that holds the channels");
  if (pixels == 0) return;
  const dim3 grid(static_cast<unsigned>(divide_up<std::int64_t>(pixels, kThreads * kPixelsPerThread)),
                  static_cast<unsigned>(pitch / 4));
  SIMT_LAUNCH((cast_to_pitch_kernel<T>), grid, kThreads, 0, stream, to, pitch, from, channels, pixels);
}

template void cast_to_pitch(BFloat16*, int, const float*, int, std::int64_t, cudaStream_t);
template void cast_to_pitch(Half*, int, const float*, int, std::int64_t, cudaStream_t);
template void cast_to_pitch(float*, int, const float*, int, std::int64_t, cudaStream_t);

}  // namespace trireme::kernels
