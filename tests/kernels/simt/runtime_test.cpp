// SPDX-License-Identifier: Apache-2.0
// The emulator's CUDA runtime: memory, copies and what it refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::simt {
namespace {

using test::DeviceArray;

std::string last_cause(cudaError_t error) {
  return cudaGetErrorString(error);
}

TEST(DeviceMemory, IsPoisonAndAligned) {
  const DeviceArray<unsigned char> array(1000);
  EXPECT_EQ(array.to_host(), std::vector<unsigned char>(1000, 0xFF));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 256, 0U);
}

TEST(DeviceMemory, IsCounted) {
  std::size_t before = 0, now = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  {
    const DeviceArray<unsigned char> array(1000);
    cudaMemGetInfo(&now, &total);
    EXPECT_EQ(before - now, 1000U);
  }
  cudaMemGetInfo(&now, &total);
  EXPECT_EQ(before, now);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, total + 1), cudaErrorMemoryAllocation);
  EXPECT_NE(last_cause(cudaErrorMemoryAllocation).find("out of device memory"), std::string::npos);
  EXPECT_EQ(pointer, nullptr);
}

TEST(DeviceMemory, RangesAreLiveFromEndToEnd) {
  const DeviceArray<unsigned char> array(100), other(100);
  using emulator::is_live_device_range;
  EXPECT_TRUE(is_live_device_range(array.data(), 100));
  EXPECT_TRUE(is_live_device_range(array.data() + 99, 1));
  EXPECT_FALSE(is_live_device_range(array.data() + 99, 2));
  EXPECT_FALSE(is_live_device_range(array.data() - 1, 2));
  EXPECT_FALSE(is_live_device_range(array.data() + 100, 1));
  const unsigned char on_stack = 0;
  EXPECT_FALSE(is_live_device_range(&on_stack, 1));
  emulator::DeviceAllocation found{};
  ASSERT_TRUE(emulator::find_device_allocation(other.data() + 7, found));
  EXPECT_EQ(found.begin, other.data());
  EXPECT_EQ(found.bytes, 100U);
}

TEST(DeviceMemory, IsFreedOnceFromItsBeginning) {
  unsigned char* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&pointer), 64), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("freed device memory"), std::string::npos);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pointer), cudaErrorInvalidValue);
}

TEST(Copies, GoAllFourWays) {
  const std::vector<int> values = {1, 2, 3, 4};
  const DeviceArray<int> from(values);
  DeviceArray<int> to(4);
  EXPECT_EQ(cudaMemcpy(to.data(), from.data(), 16, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(to.to_host(), values);
  std::vector<int> host(4);
  EXPECT_EQ(cudaMemcpy(host.data(), values.data(), 16, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(host, values);
  EXPECT_EQ(cudaMemcpy(host.data() + 1, from.data(), 12, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host, (std::vector<int>{1, 1, 2, 3}));
  EXPECT_EQ(cudaMemset(to.data() + 1, 0, 8), cudaSuccess);
  EXPECT_EQ(to.to_host(), (std::vector<int>{1, 0, 0, 4}));
}

TEST(Copies, AreRefusedWhereTheirSidesAreNotWhatIsSaid) {
  std::vector<int> host(4);
  DeviceArray<int> device(std::vector<int>(4, 1));
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("destination"), std::string::npos);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("cross by 4"), std::string::npos)
      << last_cause(cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), device.data(), 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("is not host memory"), std::string::npos);
  EXPECT_EQ(cudaMemcpy(nullptr, device.data(), 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(Copies, OfRowsLeaveWhatIsBetweenThem) {
  const std::vector<int> host = {1, 2, -1, 3, 4, -1};
  DeviceArray<int> device(std::vector<int>(7, 9));
  const auto copy = [&](int* to, std::size_t to_pitch, std::size_t width) {
    return cudaMemcpy2DAsync(to, to_pitch, host.data(), 12, width, 2, cudaMemcpyHostToDevice, nullptr);
  };
  EXPECT_EQ(copy(device.data(), 16, 8), cudaSuccess);
  EXPECT_EQ(device.to_host(), (std::vector<int>{1, 2, 9, 9, 3, 4, 9}));
  EXPECT_EQ(copy(device.data(), 4, 8), cudaErrorInvalidValue);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("pitch"), std::string::npos);
  EXPECT_EQ(copy(device.data() + 2, 16, 8), cudaErrorInvalidValue);
  EXPECT_NE(last_cause(cudaErrorInvalidValue).find("cross by 4"), std::string::npos);
  cudaGetLastError();
}

TEST(HostMemory, IsPinnedByRegistration) {
  std::vector<int> host(8);
  using emulator::is_pinned_range;
  EXPECT_FALSE(is_pinned_range(host.data(), 32));
  EXPECT_EQ(cudaHostRegister(host.data(), 32, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_TRUE(is_pinned_range(host.data(), 32));
  EXPECT_EQ(cudaHostRegister(host.data() + 4, 4, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaFreeHost(host.data()), cudaErrorInvalidValue);  // not ours to free
  EXPECT_EQ(cudaHostUnregister(host.data() + 4), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_FALSE(is_pinned_range(host.data(), 32));
  const DeviceArray<int> device(8);
  EXPECT_EQ(cudaHostRegister(const_cast<int*>(device.data()), 32, cudaHostRegisterDefault),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(DeviceMemory, EndsWhereTheSettingSays) {
  const DeviceArray<unsigned char> before(100);
  std::size_t used = emulator::used_device_memory();
  const test::WithSettings small([&](auto& settings) { settings.memory_bytes = used + 1000; });
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, used + 1000);
  EXPECT_EQ(free, 1000U);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 1001), cudaErrorMemoryAllocation);
  const DeviceArray<unsigned char> rest(1000);
  EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorMemoryAllocation);
  cudaGetLastError();
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  return properties;
}

TEST(Devices, AreSeveralWithNamesOfTheirOwn) {
  const test::WithSettings three([](auto& settings) { settings.devices = 3; });
  int count = 0, device = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 2);
  std::thread([&] { EXPECT_EQ(cudaGetDevice(&device), cudaSuccess); }).join();
  EXPECT_EQ(device, 0);  // of each thread
  EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  const cudaDeviceProp first = properties_of(0), again = properties_of(0), last = properties_of(2);
  EXPECT_EQ(std::memcmp(&first.uuid, &again.uuid, sizeof first.uuid), 0);
  EXPECT_NE(std::memcmp(&first.uuid, &last.uuid, sizeof first.uuid), 0);
  EXPECT_NE(first.pciBusID, last.pciBusID);
  const test::WithSettings shared([](auto& settings) { settings.shared_devices = true; });
  const cudaDeviceProp of_all = properties_of(0);
  EXPECT_NE(std::memcmp(&first.uuid, &of_all.uuid, sizeof first.uuid), 0);
  cudaGetLastError();
}

TEST(Devices, MayBeNone) {
  const test::WithSettings none([](auto& settings) { settings.devices = 0; });
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice");
  void* pointer = nullptr;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSetDevice(0), cudaErrorNoDevice);
  EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorNoDevice);
  EXPECT_EQ(cudaMallocHost(&pointer, 16), cudaErrorNoDevice);
  EXPECT_EQ(cudaStreamCreate(&stream), cudaErrorNoDevice);
  cudaGetLastError();
}

TEST(Device, IsOneWithTheLimitsOfAnSm80) {
  int count = 0, device = -1, value = 0, least = 1, greatest = 1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.major, 8);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LE(greatest, least);
  EXPECT_EQ(cudaFuncSetAttribute(nullptr, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
}

}  // namespace
}  // namespace trireme::simt
