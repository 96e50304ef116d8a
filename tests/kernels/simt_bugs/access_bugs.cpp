// SPDX-License-Identifier: Apache-2.0
// Accesses of what is not there, not aligned, not written, or not the kernel's.
#include "tests/kernels/simt_bugs/bugs.h"

namespace trireme::bugs {
namespace {

using namespace simt;
using test::DeviceArray;

constexpr int kThreads = 32;

__global__ void copy_kernel(const float* from, float* to, int offset) {
  store(to + threadIdx.x, load(from + static_cast<int>(threadIdx.x) + offset));
}

std::string global_read_past_end(bool is_seeded) {
  const std::vector<float> values = counting(kThreads);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(copy_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), is_seeded ? 1 : 0);
  return is_seeded ? "" : difference(to.to_host(), values);
}

/// Without the vocabulary.
__global__ void bare_copy_kernel(const float* from, float* to, int offset, bool is_bare) {
  const float* element = from + static_cast<int>(threadIdx.x) + offset;
  store(to + threadIdx.x, is_bare ? *element : load(element));
}

std::string bare_copy(int offset, bool is_bare) {
  const std::vector<float> values = counting(kThreads);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(bare_copy_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), offset, is_bare);
  return offset != 0 ? "" : difference(to.to_host(), values);
}

std::string bare_global_read_past_end(bool is_seeded) {
  return bare_copy(is_seeded ? 1 : 0, is_seeded);
}
std::string bare_global_read(bool is_seeded) {
  return bare_copy(0, is_seeded);
}

__global__ void rows_kernel(const float* from, float* to, int rows, bool reads_one_more) {
  SIMT_SHARED(Vector16<float>, shared, kThreads);
  const int row = static_cast<int>(threadIdx.x);
  cp_async<16>(&shared[row], from + 4 * row, row < rows + (reads_one_more ? 1 : 0));
  cp_async_commit();
  cp_async_wait<0>();
  store(to + row, shared[row][0]);
}

std::string async_row_past_end(bool is_seeded) {
  constexpr int kRows = 20;
  const std::vector<float> values = counting(4 * kRows);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(rows_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), kRows, is_seeded);
  std::vector<float> expected(kThreads, 0.0F);
  for (std::size_t i = 0; i < kRows; ++i) expected[i] = values[4 * i];
  return difference(to.to_host(), expected);
}

__global__ void static_index_kernel(float* to, int shift) {
  SIMT_SHARED(float, shared, kThreads);
  shared[static_cast<int>(threadIdx.x) + shift] = 1.0F;
  __syncthreads();
  store(to + threadIdx.x, threadIdx.x == 0 ? 1.0F : shared[threadIdx.x]);
}

std::string static_shared_past_end(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(static_index_kernel, 1, kThreads, 0, nullptr, to.data(), is_seeded ? 1 : 0);
  return difference(to.to_host(), std::vector<float>(kThreads, 1.0F));
}

__global__ void dynamic_index_kernel(float* to, int shift) {
  SIMT_DYN_SHARED(bytes);
  auto* shared = reinterpret_cast<float*>(bytes);
  shared[static_cast<int>(threadIdx.x) + shift] = 1.0F;
  __syncthreads();
  store(to + threadIdx.x, threadIdx.x == 0 ? 1.0F : shared[threadIdx.x]);
}

std::string dynamic_shared_past_end(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(dynamic_index_kernel, 1, kThreads, kThreads * sizeof(float), nullptr, to.data(),
              is_seeded ? 1 : 0);
  return difference(to.to_host(), std::vector<float>(kThreads, 1.0F));
}

__global__ void vector_kernel(const float* from, float* to, int offset) {
  store(to + threadIdx.x, load16(from + 4 * threadIdx.x + offset)[0]);
}

std::string misaligned_global_vector(bool is_seeded) {
  const std::vector<float> values = counting(4 * kThreads + 4);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  const int offset = is_seeded ? 1 : 0;
  SIMT_LAUNCH(vector_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(), offset);
  std::vector<float> expected(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) expected[i] = values[4 * i + static_cast<std::size_t>(offset)];
  return difference(to.to_host(), expected);
}

__global__ void shared_vector_kernel(float* to, int offset) {
  SIMT_SHARED(Vector16<float>, storage, kThreads + 1);
  auto* shared = reinterpret_cast<float*>(storage);
  auto& vector = *reinterpret_cast<Vector16<float>*>(shared + 4 * threadIdx.x + offset);
  vector[0] = static_cast<float>(threadIdx.x);
  store(to + threadIdx.x, vector[0]);
}

std::string misaligned_shared_vector(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(shared_vector_kernel, 1, kThreads, 0, nullptr, to.data(), is_seeded ? 2 : 0);
  std::vector<float> expected(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) expected[i] = static_cast<float>(i);
  return difference(to.to_host(), expected);
}

__global__ void wide_index_kernel(float* to, int pitch, int row) {
  // The product does not fit into 32 bits; what is made of it here still lies in the array.
  store(to + threadIdx.x, static_cast<float>((pitch * row) % 2 + 2));
}

std::string integer_overflow(bool is_seeded) {
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(wide_index_kernel, 1, kThreads, 0, nullptr, to.data(), 1 << 20, is_seeded ? 1 << 12 : 2);
  return difference(to.to_host(), std::vector<float>(kThreads, 2.0F));
}

__global__ void partial_fill_kernel(const float* from, float* to, int filled) {
  SIMT_SHARED(float, shared, kThreads);
  if (static_cast<int>(threadIdx.x) < filled) shared[threadIdx.x] = load(from + threadIdx.x);
  __syncthreads();
  store(to + threadIdx.x, shared[kThreads - 1 - threadIdx.x]);
}

std::string uninitialised_shared_read(bool is_seeded) {
  const std::vector<float> values = counting(kThreads);
  const DeviceArray<float> from(values);
  DeviceArray<float> to(kThreads);
  SIMT_LAUNCH(partial_fill_kernel, 1, kThreads, 0, nullptr, from.data(), to.data(),
              kThreads - (is_seeded ? 1 : 0));
  return difference(to.to_host(), std::vector<float>(values.rbegin(), values.rend()));
}

}  // namespace

std::vector<Bug> access_bugs() {
  return {{"global_read_past_end", global_read_past_end},
          {"bare_global_read_past_end", bare_global_read_past_end},
          {"bare_global_read", bare_global_read},
          {"async_row_past_end", async_row_past_end},
          {"static_shared_past_end", static_shared_past_end},
          {"dynamic_shared_past_end", dynamic_shared_past_end},
          {"misaligned_global_vector", misaligned_global_vector},
          {"misaligned_shared_vector", misaligned_shared_vector},
          {"integer_overflow", integer_overflow},
          {"uninitialised_shared_read", uninitialised_shared_read}};
}

}  // namespace trireme::bugs
