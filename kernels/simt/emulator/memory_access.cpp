// SPDX-License-Identifier: Apache-2.0
// Shared arrays, asynchronous copies and checked accesses of the running block.
#include <cstdint>
#include <string>

#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/sanitizer.h"
#include "kernels/simt/emulator/worker.h"

namespace trireme::simt::emulator {
namespace {

bool is_aligned(const void* pointer, int bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace

void* static_shared(int slot) {
  void* array = Worker::current().memory().static_array(slot);
  if (array == nullptr)
    fail({"", 0}, "has more shared memory than a block may have (48 KiB static, 227 KiB in all)");
  return array;
}

void* dynamic_shared() {
  return Worker::current().memory().dynamic_array();
}

bool checks_accesses() {
  return settings().checking || settings().counting;
}

void check_access(const void* pointer, int bytes, bool is_write, Site site) {
  const auto size = static_cast<std::size_t>(bytes);
  const char* what = is_write ? "writes" : "reads";
  if (!is_aligned(pointer, bytes))
    fail(site, "%s %d bytes at %p, which is not aligned to them", what, bytes, pointer);
  if (watches_order()) Worker::current().announce(pointer, size, site);
  if (is_live_device_range(pointer, size)) {
    if (is_forbidden(pointer, size))
      fail(site, "%s %d bytes at %p, beyond what was allocated", what, bytes, pointer);
    if (settings().counting) count_global_access(pointer, bytes, is_write, site);
  } else if (!Worker::current().memory().holds(pointer, size)) {
    static thread_local std::string description;  // not on the fiber, which never returns
    description = describe_pointer(pointer, size);
    fail(site, "%s %d bytes at %p: %s", what, bytes, pointer, description.c_str());
  }
}

void check_shared_row(const void* pointer, Site site) {
  if (!is_aligned(pointer, 16)) fail(site, "gives a row at %p that is not aligned to 16 bytes", pointer);
  if (!Worker::current().memory().holds(pointer, 16))
    fail(site, "gives a row at %p that is not in shared memory", pointer);
}

void note_shared_row(const void* row, bool is_write, Site site) {
  if (!watches_order()) return;
  Worker::current().announce(nullptr, 0, site);
  note_access(row, 16, is_write, __builtin_return_address(0));
}

void async_copy(void* shared, const void* global, int bytes, bool valid, Site site) {
  Worker::current().async_copy(shared, global, bytes, valid, site);
  if (valid) note_access(global, bytes, false, __builtin_return_address(0));
  note_access(shared, bytes, true, __builtin_return_address(0));
}
void async_commit() {
  Worker::current().async_copies().commit();
}
void async_wait(int pending, Site /*site*/) {
  Worker::current().async_copies().wait(static_cast<unsigned>(pending));
}

void Worker::async_copy(void* shared, const void* global, int bytes, bool valid, Site site) {
  if (!is_aligned(shared, bytes) || !memory_.holds(shared, static_cast<std::size_t>(bytes)))
    emulator::fail(site, "copies %d bytes to %p, which is not an aligned place in shared memory", bytes,
                   shared);
  if (valid)
    check_access(global, bytes, false, site);
  else if (settings().counting)
    count_global_access(nullptr, 0, false, site);
  if (settings().counting) count_shared_copy(shared, bytes, site);
  if (async_copies().full())
    emulator::fail(site, "has more than %u asynchronous copies under way", AsyncCopies::kCapacity);
  async_copies().issue(shared, global, bytes, valid);
}

}  // namespace trireme::simt::emulator
