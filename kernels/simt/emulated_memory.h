// SPDX-License-Identifier: Apache-2.0
// Shared arrays, accesses that are told to the emulator, and asynchronous copies.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/vector16.h"

// A static slot for each place (and each template instance of it); its memory is the block's.
#define SIMT_SHARED(Type, name, count)                                                        \
  static const int name##_slot = ::trireme::simt::emulator::new_shared_slot(                  \
      #name, sizeof(Type) * (count), alignof(Type), ::trireme::simt::emulator::Site::here()); \
  Type(&name)[count] =                                                                        \
      *reinterpret_cast<Type(*)[count]>(::trireme::simt::emulator::static_shared(name##_slot))
#define SIMT_DYN_SHARED(name) \
  unsigned char* const name = static_cast<unsigned char*>(::trireme::simt::emulator::dynamic_shared())

namespace trireme::simt {

// Inlined in every build: race detectors do not see what a call returns into memory.
template <typename T>
__forceinline__ T load(const T* from, emulator::Site site = emulator::Site::here()) {
  if (emulator::checks_accesses()) emulator::check_access(from, sizeof(T), false, site);
  return *from;
}
template <typename T>
__forceinline__ void store(T* to, T value, emulator::Site site = emulator::Site::here()) {
  if (emulator::checks_accesses()) emulator::check_access(to, sizeof(T), true, site);
  *to = value;
}
template <typename T>
__forceinline__ Vector16<T> load16(const T* from, emulator::Site site = emulator::Site::here()) {
  if (emulator::checks_accesses()) emulator::check_access(from, 16, false, site);
  return *reinterpret_cast<const Vector16<T>*>(from);
}
template <typename T>
__forceinline__ void store16(T* to, const Vector16<T>& vector, emulator::Site site = emulator::Site::here()) {
  if (emulator::checks_accesses()) emulator::check_access(to, 16, true, site);
  *reinterpret_cast<Vector16<T>*>(to) = vector;
}

inline float rsqrt(float value) {
  return 1.0F / std::sqrt(value);
}
inline unsigned multiply_high(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}

template <int Bytes>
__forceinline__ void cp_async(void* shared, const void* global, bool valid = true,
                              emulator::Site site = emulator::Site::here()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  emulator::async_copy(shared, global, Bytes, valid, site);
}
inline void cp_async_commit() {
  emulator::async_commit();
}
template <int Pending>
void cp_async_wait(emulator::Site site = emulator::Site::here()) {
  emulator::async_wait(Pending, site);
}

}  // namespace trireme::simt
