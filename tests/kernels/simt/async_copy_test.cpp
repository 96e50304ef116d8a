// SPDX-License-Identifier: Apache-2.0
// cp.async: sizes, zero fill, groups, and that nothing is there before the wait.
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

constexpr int kThreads = 32, kBytes = 16;

/// Every second thread's copy is not valid.
template <int Bytes>
__global__ void copy_kernel(const unsigned char* from, unsigned char* to) {
  SIMT_SHARED(Vector16<unsigned char>, shared, kThreads);
  shared[threadIdx.x] = Vector16<unsigned char>{};
  for (int i = 0; i < kBytes; ++i) shared[threadIdx.x][i] = 0xEE;
  const bool valid = threadIdx.x % 2 == 0;
  cp_async<Bytes>(&shared[threadIdx.x], valid ? from + threadIdx.x * kBytes : nullptr, valid);
  cp_async_commit();
  cp_async_wait<0>();
  store16(to + threadIdx.x * kBytes, shared[threadIdx.x]);
}

template <int Bytes>
void expect_copies() {
  std::vector<unsigned char> bytes(kThreads * kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 200);
  const DeviceArray<unsigned char> from(bytes);
  DeviceArray<unsigned char> to(bytes.size());
  SIMT_LAUNCH(copy_kernel<Bytes>, 1, kThreads, 0, nullptr, from.data(), to.data());
  const auto copied = to.to_host();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_copied = i % kBytes < Bytes, is_valid = i / kBytes % 2 == 0;
    EXPECT_EQ(copied[i], !is_copied ? 0xEE : is_valid ? bytes[i] : 0) << Bytes << " bytes, byte " << i;
  }
}

TEST(AsyncCopy, CopiesFourEightOrSixteenBytesOrZeros) {
  expect_copies<4>();
  expect_copies<8>();
  expect_copies<16>();
}

/// Three groups; what is seen of each group after each wait.
__global__ void groups_kernel(const int* from, int* seen) {
  SIMT_SHARED(int, shared, 3 * kThreads);
  for (int group = 0; group < 3; ++group) {
    shared[group * kThreads + static_cast<int>(threadIdx.x)] = 7;
    cp_async<4>(shared + group * kThreads + threadIdx.x, from + group * kThreads + threadIdx.x);
    cp_async_commit();
  }
  const auto look = [&](int time) {
    for (int group = 0; group < 3; ++group)
      store(seen + (time * 3 + group) * kThreads + threadIdx.x, shared[group * kThreads + threadIdx.x]);
  };
  look(0);
  cp_async_wait<2>();
  look(1);
  cp_async_wait<0>();
  look(2);
}

TEST(AsyncCopy, IsPoisonUntilItsGroupIsWaitedFor) {
  std::vector<int> values(3 * kThreads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  const DeviceArray<int> from(values);
  DeviceArray<int> seen(9 * kThreads);
  SIMT_LAUNCH(groups_kernel, 1, kThreads, 0, nullptr, from.data(), seen.data());
  const auto looks = seen.to_host();
  const int arrived[3] = {0, 1, 3};  // groups after each wait
  for (int time = 0; time < 3; ++time)
    for (int group = 0; group < 3; ++group)
      for (int thread = 0; thread < kThreads; ++thread)
        EXPECT_EQ(looks[static_cast<std::size_t>((time * 3 + group) * kThreads + thread)],
                  group < arrived[time] ? group * kThreads + thread : -1)
            << "wait " << time << " group " << group;
}

__global__ void not_committed_kernel(const int* from, int* seen) {
  SIMT_SHARED(int, shared, kThreads);
  cp_async<4>(shared + threadIdx.x, from + threadIdx.x);
  cp_async_wait<0>();  // of no group: the copy belongs to none yet
  store(seen + threadIdx.x, shared[threadIdx.x]);
  cp_async_commit();
  cp_async_wait<0>();
}

TEST(AsyncCopy, OfNoGroupIsNotWaitedFor) {
  const DeviceArray<int> from(std::vector<int>(kThreads, 3));
  DeviceArray<int> seen(kThreads);
  SIMT_LAUNCH(not_committed_kernel, 1, kThreads, 0, nullptr, from.data(), seen.data());
  EXPECT_EQ(seen.to_host(), std::vector<int>(kThreads, -1));
}

__global__ void late_source_kernel(int* source, int* seen) {
  SIMT_SHARED(int, shared, kThreads);
  cp_async<4>(shared + threadIdx.x, source + threadIdx.x);
  cp_async_commit();
  store(source + threadIdx.x, 8);  // a race on the device; here the copy is as late as can be
  cp_async_wait<0>();
  store(seen + threadIdx.x, shared[threadIdx.x]);
}

TEST(AsyncCopy, ReadsItsSourceAtTheWait) {
  DeviceArray<int> source(std::vector<int>(kThreads, 3)), seen(kThreads);
  SIMT_LAUNCH(late_source_kernel, 1, kThreads, 0, nullptr, source.data(), seen.data());
  EXPECT_EQ(seen.to_host(), std::vector<int>(kThreads, 8));
}

__global__ void never_waited_kernel(const int* from) {
  SIMT_SHARED(int, shared, kThreads);
  cp_async<4>(shared + threadIdx.x, from + threadIdx.x);
  cp_async_commit();
}
__global__ void to_global_kernel(const int* from, int* to) {
  cp_async<4>(to, from);
}
__global__ void misaligned_kernel(const int* from) {
  SIMT_SHARED(Vector16<int>, shared, kThreads);
  cp_async<16>(shared + threadIdx.x, from + 1);
}
__global__ void outside_kernel(const int* from) {
  SIMT_SHARED(Vector16<int>, shared, kThreads);
  cp_async<16>(shared + threadIdx.x, from + kThreads);
}

TEST(AsyncCopyFaults, AreSeenAtTheCopy) {
  const DeviceArray<int> from(std::vector<int>(kThreads, 3));
  DeviceArray<int> to(kThreads);
  std::string fault =
      fault_of([&] { SIMT_LAUNCH(never_waited_kernel, 1, kThreads, 0, nullptr, from.data()); });
  EXPECT_NE(fault.find("not waited for"), std::string::npos) << fault;
  fault = fault_of([&] { SIMT_LAUNCH(to_global_kernel, 1, kThreads, 0, nullptr, from.data(), to.data()); });
  EXPECT_NE(fault.find("not an aligned place in shared memory"), std::string::npos) << fault;
  fault = fault_of([&] { SIMT_LAUNCH(misaligned_kernel, 1, kThreads, 0, nullptr, from.data()); });
  EXPECT_NE(fault.find("not aligned"), std::string::npos) << fault;
  fault = fault_of([&] { SIMT_LAUNCH(outside_kernel, 1, kThreads, 0, nullptr, from.data()); });
  EXPECT_NE(fault.find("0 bytes past the end"), std::string::npos) << fault;
}

}  // namespace
}  // namespace trireme::simt
