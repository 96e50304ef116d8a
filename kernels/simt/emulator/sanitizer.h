// SPDX-License-Identifier: Apache-2.0
// What the sanitizers must be told, where the program has one: its functions are weak, null without it. The
// emulator itself is never instrumented, so one object serves all builds.
#pragma once

#include <cstddef>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names.
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                          std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom,
                                                           std::size_t* size);
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin, std::size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin, std::size_t size);
__attribute__((weak)) void* __asan_region_is_poisoned(void* begin, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace trireme::simt::emulator {

inline void forbid(const void* begin, std::size_t size) {
  if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(begin, size);
}
inline void allow(const void* begin, std::size_t size) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(begin, size);
}
inline bool is_forbidden(const void* begin, std::size_t size) {
  return __asan_region_is_poisoned != nullptr &&
         __asan_region_is_poisoned(const_cast<void*>(begin), size) != nullptr;
}

}  // namespace trireme::simt::emulator
