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
// ThreadSanitizer's, and those of the tracer, which has functions of the same names.
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
__attribute__((weak)) void __tsan_read4_pc(void* address, void* pc);
__attribute__((weak)) void __tsan_read8_pc(void* address, void* pc);
__attribute__((weak)) void __tsan_read16_pc(void* address, void* pc);
__attribute__((weak)) void __tsan_write4_pc(void* address, void* pc);
__attribute__((weak)) void __tsan_write8_pc(void* address, void* pc);
__attribute__((weak)) void __tsan_write16_pc(void* address, void* pc);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace trireme::simt::emulator {

inline void forbid(const void* begin, std::size_t size) {
  if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(begin, size);
}
inline void allow(const void* begin, std::size_t size) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(begin, size);
}

/// Whether order between threads and their accesses are watched.
inline bool watches_order() {
  return __tsan_acquire != nullptr;
}
/// All that a thread did before order_before() of a place comes before what others do after order_after() of
/// it.
inline void order_before(const void* place) {
  if (watches_order()) __tsan_release(const_cast<void*>(place));
}
inline void order_after(const void* place) {
  if (watches_order()) __tsan_acquire(const_cast<void*>(place));
}
/// An access of 4, 8 or 16 bytes that the emulator makes for the kernel's code at `pc`.
inline void note_access(const void* pointer, int bytes, bool is_write, void* pc) {
  if (!watches_order()) return;
  void* address = const_cast<void*>(pointer);
  if (is_write)
    (bytes == 4 ? __tsan_write4_pc : bytes == 8 ? __tsan_write8_pc : __tsan_write16_pc)(address, pc);
  else
    (bytes == 4 ? __tsan_read4_pc : bytes == 8 ? __tsan_read8_pc : __tsan_read16_pc)(address, pc);
}

inline bool is_forbidden(const void* begin, std::size_t size) {
  return __asan_region_is_poisoned != nullptr &&
         __asan_region_is_poisoned(const_cast<void*>(begin), size) != nullptr;
}

}  // namespace trireme::simt::emulator
