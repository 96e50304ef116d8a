// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "bench/kernels/ceilings.h"
#include "kernels/numeric.h"
#include "kernels/simt/simt.h"

namespace trireme::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 4, kColumns = 4;  // mma of a warp in one step
constexpr int kVectorsOfThread = 4;

__global__ void __launch_bounds__(kThreads)
    copy_forward_strided_kernel(float* to, const float* from, std::int64_t vectors) {
  constexpr int kVector = simt::Vector16<float>::kSize;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * kThreads * kVectorsOfThread + threadIdx.x;
  simt::Vector16<float> held[kVectorsOfThread] = {};
  SIMT_UNROLL
  for (int i = 0; i < kVectorsOfThread; ++i)
    if (begin + i * kThreads < vectors) held[i] = simt::load16(from + (begin + i * kThreads) * kVector);
  SIMT_UNROLL
  for (int i = 0; i < kVectorsOfThread; ++i)
    if (begin + i * kThreads < vectors) simt::store16(to + (begin + i * kThreads) * kVector, held[i]);
}

__global__ void __launch_bounds__(kThreads) products_forward_registers_kernel(float* sink, int steps) {
  float sums[kRows][kColumns][4] = {};
  std::uint32_t a[kRows][4], b[kColumns][2];
  const std::uint32_t bits = 0x3C003C00U + threadIdx.x % 4;  // small numbers, not known before run time
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int part = 0; part < 4; ++part) a[i][part] = bits;
  SIMT_UNROLL
  for (int i = 0; i < kColumns; ++i) SIMT_UNROLL
  for (int part = 0; part < 2; ++part) b[i][part] = bits;
  for (int step = 0; step < steps; ++step) simt::warp_mma<kernels::BFloat16, kRows, kColumns>(sums, a, b);
  float total = 0;
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int j = 0; j < kColumns; ++j) SIMT_UNROLL
  for (int part = 0; part < 4; ++part) total += sums[i][j][part];
  simt::store(sink + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x, total);
}

}  // namespace

void launch_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  const std::int64_t vectors = bytes / 16;
  const auto blocks =
      static_cast<unsigned>(kernels::divide_up<std::int64_t>(vectors, kThreads * kVectorsOfThread));
  SIMT_LAUNCH(copy_forward_strided_kernel, blocks, kThreads, 0, stream, static_cast<float*>(to),
              static_cast<const float*>(from), vectors);
}

void launch_products(float* sink, int blocks, int steps, cudaStream_t stream) {
  SIMT_LAUNCH(products_forward_registers_kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, sink,
              steps);
}

double flops_of_products(int blocks, int steps) {
  return 2.0 * 16 * 8 * 16 * kRows * kColumns * (kThreads / 32) * blocks * steps;
}

}  // namespace trireme::bench
