// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast.h"

#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorsPerThread = 4;
constexpr int kGroup = 8;  // elements that a thread takes at a time: one or two vectors on either side
constexpr int kPerBlock = kThreads * kVectorsPerThread * kGroup;

/// kGroup numbers from a 16-byte aligned place.
template <typename T>
__device__ __forceinline__ void load_group(float (&values)[kGroup], const T* from) {
  constexpr int kSize = kVectorSize<T>;
  SIMT_UNROLL
  for (int part = 0; part < kGroup; part += kSize) {
    const auto vector = simt::load16(from + part);
    SIMT_UNROLL
    for (int i = 0; i < kSize; ++i) values[part + i] = to_float(vector[i]);
  }
}

template <typename T>
__device__ __forceinline__ void store_group(T* to, const float (&values)[kGroup]) {
  constexpr int kSize = kVectorSize<T>;
  SIMT_UNROLL
  for (int part = 0; part < kGroup; part += kSize) {
    simt::Vector16<T> vector;
    SIMT_UNROLL
    for (int i = 0; i < kSize; ++i) vector[i] = from_float<T>(values[part + i]);
    simt::store16(to + part, vector);
  }
}

template <typename To, typename From, bool kScales>
__global__ void __launch_bounds__(kThreads)
    cast_vector_kernel(To* to, const From* from, const float* factor_at, std::int64_t count) {
  const float factor = kScales ? simt::load(factor_at) : 1.0F;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPerBlock;
  SIMT_UNROLL
  for (int k = 0; k < kVectorsPerThread; ++k) {
    const std::int64_t at = begin + (k * kThreads + static_cast<int>(threadIdx.x)) * kGroup;
    if (at + kGroup <= count) {
      float values[kGroup];
      load_group(values, from + at);
      if constexpr (kScales) {
        SIMT_UNROLL
        for (int i = 0; i < kGroup; ++i) values[i] *= factor;
      }
      store_group(to + at, values);
    } else {
      for (std::int64_t each = at; each < count; ++each) {
        const float value = to_float(simt::load(from + each));
        simt::store(to + each, from_float<To>(kScales ? factor * value : value));
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads) fill_zero_vector_kernel(unsigned char* to, std::int64_t bytes) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPerBlock;
  SIMT_UNROLL
  for (int k = 0; k < kPerBlock / (16 * kThreads); ++k) {
    const std::int64_t at = begin + (k * kThreads + static_cast<int>(threadIdx.x)) * 16;
    if (at + 16 <= bytes) {
      simt::store16(to + at, simt::Vector16<unsigned char>{});
    } else {
      for (std::int64_t each = at; each < bytes; ++each)
        simt::store(to + each, static_cast<unsigned char>(0));
    }
  }
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(divide_up<std::int64_t>(count, kPerBlock));
}

}  // namespace

template <typename To, typename From>
void cast(To* to, const From* from, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  SIMT_LAUNCH((cast_vector_kernel<To, From, false>), blocks_for(count), kThreads, 0, stream, to, from,
              nullptr, count);
}

template <typename To, typename From>
void scaled_cast(To* to, const From* from, const float* factor, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  SIMT_LAUNCH((cast_vector_kernel<To, From, true>), blocks_for(count), kThreads, 0, stream, to, from, factor,
              count);
}

void fill_zero(void* to, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  const auto count = static_cast<std::int64_t>(bytes);
  SIMT_LAUNCH(fill_zero_vector_kernel, blocks_for(count), kThreads, 0, stream,
              static_cast<unsigned char*>(to), count);
}

#define TRIREME_INSTANTIATE_CAST(To, From)                          \
  template void cast(To*, const From*, std::int64_t, cudaStream_t); \
  template void scaled_cast(To*, const From*, const float*, std::int64_t, cudaStream_t)
TRIREME_INSTANTIATE_CAST(BFloat16, float);
TRIREME_INSTANTIATE_CAST(Half, float);
TRIREME_INSTANTIATE_CAST(float, BFloat16);
TRIREME_INSTANTIATE_CAST(float, Half);
TRIREME_INSTANTIATE_CAST(float, float);
#undef TRIREME_INSTANTIATE_CAST

}  // namespace trireme::kernels
