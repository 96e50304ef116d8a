// SPDX-License-Identifier: Apache-2.0
// Which memory is device memory. Each allocation is one of the host's, of exactly the size asked for, so that
// AddressSanitizer guards its ends. May be asked from any thread, and by threads of a kernel: the questions
// neither allocate nor take a lock that ThreadSanitizer would see.
#pragma once

#include <cstddef>
#include <string>

namespace trireme::simt::emulator {

struct DeviceAllocation {
  const unsigned char* begin;
  std::size_t bytes;
};

/// Filled with 0xFF and aligned to 256 bytes; null where the device's or the host's memory is exhausted.
void* allocate_device_memory(std::size_t bytes);
/// False where `pointer` does not begin a live allocation.
bool free_device_memory(void* pointer);
std::size_t used_device_memory();

/// Whether all `bytes` lie in one live allocation.
bool is_live_device_range(const void* pointer, std::size_t bytes);
/// The live allocation that holds *pointer; false where there is none.
bool find_device_allocation(const void* pointer, DeviceAllocation& found);

/// Pinned host memory: what an asynchronous copy really leaves to the device.
void* allocate_pinned_memory(std::size_t bytes);
bool free_pinned_memory(void* pointer);
/// Host memory that becomes pinned; false where some of it is already.
bool pin_memory(void* pointer, std::size_t bytes);
/// False where `pointer` does not begin what was pinned so.
bool unpin_memory(void* pointer);
bool is_pinned_range(const void* pointer, std::size_t bytes);

/// What `bytes` bytes at `pointer` are, for messages: "freed device memory (...)", "host memory or unknown"
/// ...
std::string describe_pointer(const void* pointer, std::size_t bytes = 1);

}  // namespace trireme::simt::emulator
