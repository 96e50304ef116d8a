// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d/geometry.h"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;

struct PackShape {
  FastDivide vectors_of_row, packed_taps_w, pitch;  ///< of an output channel, taps of a row, channels
  int taps_w, channels, row;                        ///< of the unpadded weights
  int vectors;                                      ///< to write

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit /*visit*/) const {}
};

// One thread, 16 bytes of the packed copy; each element is looked up by itself, since a vector may hold two
// taps.
template <typename T>
__global__ void conv2d_pack_weights_kernel(T* packed, const float* weights, PackShape shape) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= shape.vectors) return;
  simt::Vector16<T> vector;

  int vector_of_row;
  const int o = shape.vectors_of_row.divide(i, vector_of_row);
  const int begin = vector_of_row * kVectorSize<T>;
  SIMT_UNROLL
  for (int j = 0; j < kVectorSize<T>; ++j) {
    int channel, tap_w;
    const int tap = shape.pitch.divide(begin + j, channel);
    const int tap_h = shape.packed_taps_w.divide(tap, tap_w);
    float value = 0;
    if (channel < shape.channels && tap_w < shape.taps_w) {
      const int place = (tap_h * shape.taps_w + tap_w) * shape.channels + channel;
      value = simt::load(weights + static_cast<std::int64_t>(o) * shape.row + place);
    }
    vector.values[j] = from_float<T>(value);
  }
  simt::store16(packed + static_cast<std::int64_t>(i) * kVectorSize<T>, vector);
}

/// Four elements of T as one access.
template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

// Without pads both layouts are the same: 16 bytes of fp32 in, four elements out.
template <typename T>
__global__ void conv2d_pack_weights_dense_kernel(T* packed, const float* weights, std::int64_t count) {
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  if (begin >= count) return;
  const simt::Vector16<float> from = simt::load16(weights + begin);
  Four<T> to;
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) to.values[i] = from_float<T>(from.values[i]);
  simt::store(reinterpret_cast<Four<T>*>(packed + begin), to);
}

}  // namespace

template <typename T>
std::int64_t conv2d_packed_weights_size(const Conv2dShape& shape) {
  return shape.out_channels * packed_row<T>(shape);
}

template <typename T>
void conv2d_pack_weights(T* packed, const float* weights, const Conv2dShape& shape, cudaStream_t stream) {
  check_conv2d<T>(shape);
  const std::int64_t count = conv2d_packed_weights_size<T>(shape);
  if (shape.in_channels == shape.in_pitch && !is_stem<T>(shape)) {
    const auto blocks = static_cast<unsigned>(divide_up<std::int64_t>(count, 4 * kThreads));
    SIMT_LAUNCH(conv2d_pack_weights_dense_kernel<T>, dim3(blocks), dim3(kThreads), 0, stream, packed, weights,
                count);
    return;
  }
  PackShape p;
  p.vectors_of_row = FastDivide(static_cast<int>(packed_row<T>(shape)) / kVectorSize<T>);
  p.packed_taps_w = FastDivide(static_cast<int>(packed_taps_w<T>(shape)));
  p.pitch = FastDivide(static_cast<int>(shape.in_pitch));
  p.taps_w = static_cast<int>(shape.kernel_w);
  p.channels = static_cast<int>(shape.in_channels);
  p.row = static_cast<int>(shape.kernel_h * shape.kernel_w * shape.in_channels);
  p.vectors = static_cast<int>(count / kVectorSize<T>);
  SIMT_LAUNCH(conv2d_pack_weights_kernel<T>, dim3(static_cast<unsigned>(divide_up(p.vectors, kThreads))),
              dim3(kThreads), 0, stream, packed, weights, p);
}

#define INSTANTIATE(T)                                                     \
  template std::int64_t conv2d_packed_weights_size<T>(const Conv2dShape&); \
  template void conv2d_pack_weights<T>(T*, const float*, const Conv2dShape&, cudaStream_t)
INSTANTIATE(BFloat16);
INSTANTIATE(Half);
INSTANTIATE(Tf32);
INSTANTIATE(float);
#undef INSTANTIATE

}  // namespace trireme::kernels
