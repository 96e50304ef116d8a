// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.h"

#include <stdexcept>

#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorsAtOnce = 2;  // of each input, in one thread

struct ReluForward {
  static constexpr int kInputs = 1;
  __device__ __forceinline__ float operator()(float x, float) const { return relu(x); }
};
struct ReluBackward {
  static constexpr int kInputs = 2;
  __device__ __forceinline__ float operator()(float dy, float y) const { return y > 0 ? dy : 0.0F; }
};
struct Add {
  static constexpr int kInputs = 2;
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};
struct AddRelu {
  static constexpr int kInputs = 2;
  __device__ __forceinline__ float operator()(float a, float b) const { return relu(a + b); }
};

/// A block works on kVectorsAtOnce times its threads' vectors, a thread on every kThreads-th of them.
template <typename T, typename Map>
__global__ void __launch_bounds__(kThreads)
    elementwise_map_kernel(T* to, const T* a, const T* b, std::int64_t vectors) {
  constexpr int kVector = kVectorSize<T>;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kVectorsAtOnce) + threadIdx.x;
  simt::Vector16<T> first[kVectorsAtOnce], second[kVectorsAtOnce];
  SIMT_UNROLL
  for (int i = 0; i < kVectorsAtOnce; ++i) {
    const std::int64_t at = begin + i * kThreads;
    if (at >= vectors) break;
    first[i] = simt::load16(a + at * kVector);
    if constexpr (Map::kInputs == 2) second[i] = simt::load16(b + at * kVector);
  }
  SIMT_UNROLL
  for (int i = 0; i < kVectorsAtOnce; ++i) {
    const std::int64_t at = begin + i * kThreads;
    if (at >= vectors) break;
    float values[kVector];
    SIMT_UNROLL
    for (int v = 0; v < kVector; ++v) {
      if constexpr (Map::kInputs == 2)
        values[v] = Map()(to_float(first[i][v]), to_float(second[i][v]));
      else
        values[v] = Map()(to_float(first[i][v]), 0.0F);
    }
    simt::store16(to + at * kVector, pack<T>(values));
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) fill_vector_kernel(T* to, float value, std::int64_t count) {
  constexpr int kVector = kVectorSize<T>;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (at + kVector <= count) {
    float values[kVector];
    SIMT_UNROLL
    for (int v = 0; v < kVector; ++v) values[v] = value;
    simt::store16(to + at, pack<T>(values));
  } else {
    for (std::int64_t i = at; i < count; ++i) simt::store(to + i, from_float<T>(value));
  }
}

template <typename T, typename Map>
void launch_map(T* to, const T* a, const T* b, std::int64_t count, cudaStream_t stream) {
  if (count < 0 || count % kVectorSize<T> != 0)
    throw std::invalid_argument("elementwise: the elements do not fill whole 16-byte vectors");
  if (count == 0) return;
  const std::int64_t vectors = count / kVectorSize<T>;
  const auto blocks = static_cast<unsigned>(divide_up<std::int64_t>(vectors, kThreads * kVectorsAtOnce));
  SIMT_LAUNCH((elementwise_map_kernel<T, Map>), blocks, kThreads, 0, stream, to, a, b, vectors);
}

}  // namespace

template <typename T>
void relu_forward(T* y, const T* x, std::int64_t count, cudaStream_t stream) {
  launch_map<T, ReluForward>(y, x, nullptr, count, stream);
}
template <typename T>
void relu_backward(T* dx, const T* dy, const T* y, std::int64_t count, cudaStream_t stream) {
  launch_map<T, ReluBackward>(dx, dy, y, count, stream);
}
template <typename T>
void add_forward(T* z, const T* a, const T* b, bool relu, std::int64_t count, cudaStream_t stream) {
  if (relu)
    launch_map<T, AddRelu>(z, a, b, count, stream);
  else
    launch_map<T, Add>(z, a, b, count, stream);
}
template <typename T>
void fill(T* to, float value, std::int64_t count, cudaStream_t stream) {
  if (count < 0) throw std::invalid_argument("fill: a negative number of elements");
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up<std::int64_t>(count, kThreads * kVectorSize<T>));
  SIMT_LAUNCH((fill_vector_kernel<T>), blocks, kThreads, 0, stream, to, value, count);
}

#define TRIREME_INSTANTIATE(T)                                                            \
  template void relu_forward<T>(T*, const T*, std::int64_t, cudaStream_t);                \
  template void relu_backward<T>(T*, const T*, const T*, std::int64_t, cudaStream_t);     \
  template void add_forward<T>(T*, const T*, const T*, bool, std::int64_t, cudaStream_t); \
  template void fill<T>(T*, float, std::int64_t, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
