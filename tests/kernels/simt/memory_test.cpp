// SPDX-License-Identifier: Apache-2.0
// Shared arrays, accesses of 16 bytes, atomics, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using test::DeviceArray;
using test::fault_of;

/// Tells what each array holds before anybody wrote it, then dirties it for the next block.
__global__ void first_look_kernel(unsigned* seen) {
  SIMT_SHARED(unsigned, array, 32);
  SIMT_DYN_SHARED(dynamic);
  auto* words = reinterpret_cast<unsigned*>(dynamic);
  unsigned* own = seen + blockIdx.x * 64 + threadIdx.x;
  store(own, array[threadIdx.x]);
  store(own + 32, words[threadIdx.x]);
  array[threadIdx.x] = words[threadIdx.x] = 5;
}

TEST(SharedMemory, IsPoisonInEachBlock) {
  DeviceArray<unsigned> device(4 * 64);
  SIMT_LAUNCH(first_look_kernel, 4, 32, 128, nullptr, device.data());
  EXPECT_EQ(device.to_host(), std::vector<unsigned>(4 * 64, 0xFFFFFFFFU));
}

template <int kIndex>
__device__ int* array_of() {
  SIMT_SHARED(int, array, 8);
  return array;
}

__global__ void arrays_kernel(int* results) {
  SIMT_SHARED(int, a, 32);
  SIMT_SHARED(Vector16<float>, b, 32);
  int* first = array_of<0>();
  int* second = array_of<1>();
  SIMT_DYN_SHARED(dynamic);
  a[threadIdx.x] = 1;
  b[threadIdx.x][3] = 2.0F;
  if (threadIdx.x < 8) {
    first[threadIdx.x] = 3;
    second[threadIdx.x] = 4;
  }
  dynamic[threadIdx.x] = 5;
  __syncthreads();
  const unsigned other = 31 - threadIdx.x;
  store(results + threadIdx.x, a[other] + 10 * static_cast<int>(b[other][3]) + 100 * first[other / 4] +
                                   1000 * second[other / 4] + 10000 * dynamic[other]);
}

TEST(SharedMemory, EachArrayIsItsOwnAndAllThreadsShareIt) {
  DeviceArray<int> device(32);
  SIMT_LAUNCH(arrays_kernel, 1, 32, 32, nullptr, device.data());
  EXPECT_EQ(device.to_host(), std::vector<int>(32, 54321));
}

__global__ void large_static_kernel(int* result) {
  SIMT_SHARED(int, array, 12 * 1024 + 1);
  array[threadIdx.x] = 1;
  store(result + threadIdx.x, array[threadIdx.x]);
}

TEST(SharedMemory, StaticArraysAreAtMost48KiB) {
  DeviceArray<int> device(32);
  const std::string fault =
      fault_of([&] { SIMT_LAUNCH(large_static_kernel, 1, 32, 0, nullptr, device.data()); });
  EXPECT_NE(fault.find("48 KiB"), std::string::npos) << fault;
}

template <typename T>
__global__ void copy16_kernel(const T* from, T* to) {
  const Vector16<T> vector = load16(from + threadIdx.x * Vector16<T>::kSize);
  store16(to + threadIdx.x * Vector16<T>::kSize, vector);
}

TEST(Accesses, SixteenBytesOfEachType) {
  std::vector<std::uint8_t> bytes(32 * 16);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(7 * i);
  DeviceArray<std::uint8_t> from(bytes), to(bytes.size());
  SIMT_LAUNCH(copy16_kernel<std::uint8_t>, 1, 32, 0, nullptr, from.data(), to.data());
  EXPECT_EQ(to.to_host(), bytes);
  DeviceArray<std::uint8_t> again(bytes.size());
  SIMT_LAUNCH(copy16_kernel<Half>, 1, 32, 0, nullptr, reinterpret_cast<const Half*>(from.data()),
              reinterpret_cast<Half*>(again.data()));
  EXPECT_EQ(again.to_host(), bytes);
}

__global__ void read_at_kernel(const float* from, int index, float* to) {
  store(to + threadIdx.x, load(from + index));
}
__global__ void read16_at_kernel(const float* from, int index, float* to) {
  store(to + threadIdx.x, load16(from + index)[0]);
}
__global__ void write_at_kernel(float* to, int index) {
  store(to + index, 1.0F);
}

TEST(AccessFaults, NameWhatTheAddressIs) {
  DeviceArray<float> from(std::vector<float>(10, 1.0F)), to(32);
  const auto read_at = [&](int index) {
    return fault_of([&] { SIMT_LAUNCH(read_at_kernel, 1, 32, 0, nullptr, from.data(), index, to.data()); });
  };
  EXPECT_EQ(read_at(9), "");
  const std::string past = read_at(10), before = read_at(-1);
  EXPECT_NE(past.find("reads 4 bytes at"), std::string::npos) << past;
  EXPECT_NE(past.find("0 bytes past the end of a device allocation of 40 bytes"), std::string::npos) << past;
  EXPECT_NE(past.find(",0,0) at " __FILE__), std::string::npos) << past;
  EXPECT_NE(before.find("4 bytes before a device allocation of 40 bytes"), std::string::npos) << before;
  const std::string write =
      fault_of([&] { SIMT_LAUNCH(write_at_kernel, 1, 32, 0, nullptr, from.data(), 11); });
  EXPECT_NE(write.find("writes 4 bytes at"), std::string::npos) << write;
}

TEST(AccessFaults, SixteenBytesAreAlignedAndInside) {
  DeviceArray<float> from(std::vector<float>(10, 1.0F)), to(32);
  const auto read16_at = [&](int index) {
    return fault_of([&] { SIMT_LAUNCH(read16_at_kernel, 1, 32, 0, nullptr, from.data(), index, to.data()); });
  };
  EXPECT_EQ(read16_at(4), "");
  EXPECT_NE(read16_at(1).find("not aligned"), std::string::npos) << read16_at(1);
  EXPECT_NE(read16_at(8).find("cross by 8"), std::string::npos) << read16_at(8);
}

__global__ void atomics_kernel(int* sums, unsigned long long* mask, float* total) {
  const int thread = static_cast<int>(threadIdx.x);
  atomicAdd(sums, thread);
  atomicMax(sums + 1, thread);
  atomicMin(sums + 2, thread);
  atomicAdd(total, 0.5F);
  if (thread < 64) atomicOr(mask, 1ULL << thread);
  atomicExch(sums + 3, 9);
  // Each thread takes a number of its own.
  int taken = atomicAdd(sums + 4, 0);
  while (true) {
    const int before = atomicCAS(sums + 4, taken, taken + 1);
    if (before == taken) break;
    taken = before;
  }
  store(sums + 5 + taken, 1);
}

TEST(Atomics, CombineWhatAllThreadsOfAllBlocksDo) {
  DeviceArray<int> sums(std::vector<int>(5 + 192, 0));
  DeviceArray<unsigned long long> mask(std::vector<unsigned long long>(1, 0));
  DeviceArray<float> total(std::vector<float>(1, 0.0F));
  SIMT_LAUNCH(atomics_kernel, 2, 96, 0, nullptr, sums.data(), mask.data(), total.data());
  const auto result = sums.to_host();
  EXPECT_EQ(result[0], 95 * 96);
  EXPECT_EQ(result[1], 95);
  EXPECT_EQ(result[2], 0);
  EXPECT_EQ(result[3], 9);
  EXPECT_EQ(result[4], 192);
  EXPECT_EQ(std::vector<int>(result.begin() + 5, result.end()), std::vector<int>(192, 1));
  EXPECT_EQ(mask.to_host()[0], ~0ULL);
  EXPECT_EQ(total.to_host()[0], 96.0F);
}

}  // namespace
}  // namespace trireme::simt
