// SPDX-License-Identifier: Apache-2.0
// Atomics with CUDA's names: each returns the value from before. Relaxed, as on the device.
#pragma once

#include <atomic>

#include "kernels/simt/emulator/block.h"

namespace trireme::simt::emulator {

/// Replaces *address by combine(*address) atomically.
template <typename T, typename Combine>
T update_atomically(T* address, Combine combine, Site site) {
  if (checks_accesses()) check_access(address, sizeof(T), true, site);
  std::atomic_ref<T> word(*address);
  T before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, combine(before), std::memory_order_relaxed)) {
  }
  return before;
}

}  // namespace trireme::simt::emulator

#define SIMT_SITE trireme::simt::emulator::Site site = trireme::simt::emulator::Site::here()

template <typename T>
T atomicAdd(T* address, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [value](T before) { return static_cast<T>(before + value); }, site);
}
template <typename T>
T atomicMax(T* address, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [value](T before) { return before < value ? value : before; }, site);
}
template <typename T>
T atomicMin(T* address, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [value](T before) { return value < before ? value : before; }, site);
}
template <typename T>
T atomicOr(T* address, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [value](T before) { return static_cast<T>(before | value); }, site);
}
template <typename T>
T atomicExch(T* address, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [value](T /*before*/) { return value; }, site);
}
template <typename T>
T atomicCAS(T* address, T compare, T value, SIMT_SITE) {
  return trireme::simt::emulator::update_atomically(
      address, [compare, value](T before) { return before == compare ? value : before; }, site);
}
#undef SIMT_SITE
