// SPDX-License-Identifier: Apache-2.0
// The functions that -fsanitize=thread makes the compiler call, and those that the emulator calls where a
// race detector is linked (emulator/sanitizer.h).
#include <atomic>
#include <cstdint>

#include "kernels/simt/tracer/tracer.h"

using trireme::simt::tracer::on_access;
using trireme::simt::tracer::on_arrival;
using trireme::simt::tracer::on_leaving;

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler's names.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* /*pc*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*address*/, void* /*value*/) {}
void __tsan_vptr_read(void** /*address*/) {}

#define TRACE_SIZE(size)                                          \
  void __tsan_read##size(void* address) {                         \
    on_access(address, size, false, __builtin_return_address(0)); \
  }                                                               \
  void __tsan_write##size(void* address) {                        \
    on_access(address, size, true, __builtin_return_address(0));  \
  }                                                               \
  void __tsan_unaligned_read##size(void* address) {               \
    on_access(address, size, false, __builtin_return_address(0)); \
  }                                                               \
  void __tsan_unaligned_write##size(void* address) {              \
    on_access(address, size, true, __builtin_return_address(0));  \
  }                                                               \
  void __tsan_read##size##_pc(void* address, void* pc) {          \
    on_access(address, size, false, pc);                          \
  }                                                               \
  void __tsan_write##size##_pc(void* address, void* pc) {         \
    on_access(address, size, true, pc);                           \
  }
TRACE_SIZE(1)
TRACE_SIZE(2)
TRACE_SIZE(4)
TRACE_SIZE(8)
TRACE_SIZE(16)
#undef TRACE_SIZE

void __tsan_read_range(void* address, unsigned long size) {
  on_access(address, size, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, unsigned long size) {
  on_access(address, size, true, __builtin_return_address(0));
}

// Threads are told apart by the emulator itself.
void* __tsan_get_current_fiber() {
  return nullptr;
}
void* __tsan_create_fiber(unsigned /*flags*/) {
  return nullptr;
}
void __tsan_destroy_fiber(void* /*fiber*/) {}
void __tsan_switch_to_fiber(void* /*fiber*/, unsigned /*flags*/) {}
void __tsan_release(void* place) {
  on_arrival(place);
}
void __tsan_acquire(void* place) {
  on_leaving(place);
}

// Atomics order nothing and race with nothing: they are done, and that is all.
void __tsan_atomic_thread_fence(int /*order*/) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void __tsan_atomic_signal_fence(int /*order*/) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

#define TRACE_UPDATE(bits, name)                                                               \
  std::uint##bits##_t __tsan_atomic##bits##_##name(volatile std::uint##bits##_t* address,      \
                                                   std::uint##bits##_t value, int /*order*/) { \
    return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                                  \
  }
#define TRACE_ATOMICS(bits)                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* address,                \
                                                 int /*order*/) {                                            \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                          \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* address, std::uint##bits##_t value,         \
                                   int /*order*/) {                                                          \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                          \
  std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t* address,                  \
                                                     std::uint##bits##_t value, int /*order*/) {             \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                          \
  TRACE_UPDATE(bits, fetch_add)                                                                              \
  TRACE_UPDATE(bits, fetch_sub)                                                                              \
  TRACE_UPDATE(bits, fetch_and)                                                                              \
  TRACE_UPDATE(bits, fetch_or)                                                                               \
  TRACE_UPDATE(bits, fetch_xor)                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* address,                   \
                                                    std::uint##bits##_t* expected,                           \
                                                    std::uint##bits##_t desired, int, int) {                 \
    return static_cast<int>(                                                                                 \
        __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  }                                                                                                          \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile std::uint##bits##_t* address,                     \
                                                  std::uint##bits##_t* expected,                             \
                                                  std::uint##bits##_t desired, int, int) {                   \
    return static_cast<int>(                                                                                 \
        __atomic_compare_exchange_n(address, expected, desired, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));  \
  }
TRACE_ATOMICS(8)
TRACE_ATOMICS(16)
TRACE_ATOMICS(32)
TRACE_ATOMICS(64)
#undef TRACE_ATOMICS
#undef TRACE_UPDATE

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
