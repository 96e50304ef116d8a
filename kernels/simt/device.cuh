// SPDX-License-Identifier: Apache-2.0
// The vocabulary under nvcc: CUDA's own words are left alone, and each instruction that needs inline PTX has
// its wrapper here and nowhere else. Page names in comments are those of the PTX ISA, version 8.7.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/simt/device_launch.cuh"
#include "kernels/simt/vector16.h"

#define SIMT_SHARED(Type, name, count) __shared__ Type name[count]
// One spelling of the dynamic array for all kernels of a file: template instances must not disagree on its
// type.
#define SIMT_DYN_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#define SIMT_UNROLL _Pragma("unroll")
#define SIMT_NO_UNROLL _Pragma("unroll 1")

namespace trireme::simt {

__device__ __forceinline__ int lane_id() {
  return static_cast<int>(threadIdx.x) % kWarpSize;
}
__device__ __forceinline__ int warp_id() {
  return static_cast<int>(threadIdx.x) / kWarpSize;
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <typename T>
__device__ __forceinline__ T load(const T* from) {
  return *from;
}
template <typename T>
__device__ __forceinline__ void store(T* to, T value) {
  *to = value;
}
template <typename T>
__device__ __forceinline__ Vector16<T> load16(const T* from) {
  return *reinterpret_cast<const Vector16<T>*>(from);
}
template <typename T>
__device__ __forceinline__ void store16(T* to, const Vector16<T>& vector) {
  *reinterpret_cast<Vector16<T>*>(to) = vector;
}

__device__ __forceinline__ float rsqrt(float value) {
  return rsqrtf(value);
}
__device__ __forceinline__ unsigned multiply_high(unsigned a, unsigned b) {
  return __umulhi(a, b);
}

// What sm_75 lacks: its copies are made where they are issued, its products of matrices are not compiled. No
// host asks it for one; a call would end the kernel.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SIMT_BEFORE_SM_80 1
#else
#define SIMT_BEFORE_SM_80 0
#endif

/// cp.async: starts a copy of Bytes (4, 8 or 16) from global to shared memory; where not `valid` nothing is
/// read and zeros are written. 16 bytes bypass L1.
template <int Bytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global, bool valid = true) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if SIMT_BEFORE_SM_80
  struct alignas(Bytes) Piece {
    unsigned words[Bytes / 4];
  };
  *static_cast<Piece*>(shared) = valid ? *static_cast<const Piece*>(global) : Piece{};
#else
  const unsigned to = shared_address(shared);
  const int size = valid ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(to), "l"(global), "n"(Bytes),
                 "r"(size)
                 : "memory");
#endif
}
/// Closes the group of copies that this thread has started since the last commit.
__device__ __forceinline__ void cp_async_commit() {
#if !SIMT_BEFORE_SM_80
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}
/// Waits until at most Pending of this thread's groups are unfinished.
template <int Pending>
__device__ __forceinline__ void cp_async_wait() {
#if !SIMT_BEFORE_SM_80
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Pending) : "memory");
#endif
}

/// bar.sync: waits until `threads` (a multiple of 32) threads have come to barrier `id` (1 to 15; 0 is
/// __syncthreads). bar.arrive: is counted without waiting.
__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "r"(threads) : "memory");
}

/// ldmatrix .m8n8.x4.b16: four matrices of 8 rows of 16 bytes; lane 8 i + r gives the address of row r of
/// matrix i, in shared memory and 16-byte aligned. Register i of lane l gets row l / 4, bytes 4 (l % 4) to 4
/// (l % 4) + 3 of matrix i; transposed: the 16-bit elements (2 (l % 4), l / 4) and (2 (l % 4) + 1, l / 4).
template <bool kTranspose>
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&fragment)[4], const void* row) {
  const unsigned from = shared_address(row);
  if constexpr (kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                 : "r"(from)
                 : "memory");
}

/// N of them, in one step of the emulator.
template <int N, bool kTranspose>
__device__ __forceinline__ void warp_ldmatrix(std::uint32_t (&fragments)[N][4],
                                              const void* const (&rows)[N]) {
  SIMT_UNROLL
  for (int i = 0; i < N; ++i) ldmatrix_x4<kTranspose>(fragments[i], rows[i]);
}

/// The way back of ldmatrix_x4 without transposition: stmatrix on sm_90 and newer, 32-bit stores before.
__device__ __forceinline__ void stmatrix_x4(void* row, const std::uint32_t (&fragment)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared_address(row)),
      "r"(fragment[0]), "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
      : "memory");
#else
  const auto address = reinterpret_cast<unsigned long long>(row);
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    const unsigned long long to = __shfl_sync(kFullMask, address, 8 * i + lane_id() / 4);
    reinterpret_cast<std::uint32_t*>(to)[lane_id() % 4] = fragment[i];
  }
#endif
}

/// Rounds to the nearest tf32, ties away from zero; the lower 13 bits become zero.
__device__ __forceinline__ std::uint32_t to_tf32(float value) {
#if SIMT_BEFORE_SM_80
  __trap();
  return __float_as_uint(value);
#else
  std::uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(rounded) : "f"(value));
  return rounded;
#endif
}

/// mma.sync.aligned.m16n8k16 (BFloat16, Half) or .m16n8k8 (Tf32), row.col, fp32 accumulators: d += a b. With
/// g = lane / 4 and t = lane % 4, for 16-bit types, two elements in a register, the lower k below:
///   a[0] (row g, k 2t..2t+1)  a[1] (row g+8, same k)  a[2] (row g, k 2t+8..2t+9)  a[3] (row g+8, same k)
///   b[0] (k 2t..2t+1, column g)  b[1] (k 2t+8..2t+9, column g)
/// and for Tf32  a[0] (g, t)  a[1] (g+8, t)  a[2] (g, t+4)  a[3] (g+8, t+4)  b[0] (t, g)  b[1] (t+4, g).
///   d[0], d[1] (row g, columns 2t, 2t+1)  d[2], d[3] (row g+8, same columns)
template <typename T>
__device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);

#if SIMT_BEFORE_SM_80
#define SIMT_DEFINE_MMA(Type, instruction)                                          \
  template <>                                                                       \
  __device__ __forceinline__ void mma<Type>(float(&)[4], const std::uint32_t(&)[4], \
                                            const std::uint32_t(&)[2]) {            \
    __trap();                                                                       \
  }
#else
#define SIMT_DEFINE_MMA(Type, instruction)                                                        \
  template <>                                                                                     \
  __device__ __forceinline__ void mma<Type>(float(&d)[4], const std::uint32_t(&a)[4],             \
                                            const std::uint32_t(&b)[2]) {                         \
    asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));             \
  }
#endif
SIMT_DEFINE_MMA(BFloat16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
SIMT_DEFINE_MMA(Half, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
SIMT_DEFINE_MMA(Tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#undef SIMT_DEFINE_MMA
#undef SIMT_BEFORE_SM_80

/// A warp's tile of Rows x Columns of them, in one step of the emulator.
template <typename T, int Rows, int Columns>
__device__ __forceinline__ void warp_mma(float (&d)[Rows][Columns][4], const std::uint32_t (&a)[Rows][4],
                                         const std::uint32_t (&b)[Columns][2]) {
  SIMT_UNROLL
  for (int row = 0; row < Rows; ++row) SIMT_UNROLL
  for (int column = 0; column < Columns; ++column) mma<T>(d[row][column], a[row], b[column]);
}

}  // namespace trireme::simt
