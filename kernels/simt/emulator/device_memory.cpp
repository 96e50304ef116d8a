// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/device_memory.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/settings.h"

namespace trireme::simt::emulator {
namespace {

constexpr std::size_t kAlignment = 256;
/// How far outside an allocation a pointer still counts as a slip from it.
constexpr std::uintptr_t kNearby = 4096;

// A type of this file alone, so that the map's code is this file's, which is never instrumented.
struct Range {
  std::uintptr_t begin;
  std::size_t bytes;
  bool is_registered = false;  ///< of pinned memory: it was, and belongs to somebody else

  std::uintptr_t end() const { return begin + bytes; }
  bool holds(std::uintptr_t address, std::size_t size) const {
    return address >= begin && size <= bytes && address - begin <= bytes - size;
  }
};

/// Spins: a mutex of the C library would order the threads of a kernel in ThreadSanitizer's eyes.
class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

class RangeSet {
 public:
  void insert(const Range& range) { ranges_[range.begin] = range; }
  bool erase(std::uintptr_t begin, Range& erased) {
    const auto found = ranges_.find(begin);
    if (found == ranges_.end()) return false;
    erased = found->second;
    ranges_.erase(found);
    return true;
  }
  void erase_overlapping(const Range& with) {
    auto at = ranges_.lower_bound(with.begin);
    if (at != ranges_.begin() && std::prev(at)->second.end() > with.begin) --at;
    while (at != ranges_.end() && at->first < with.end()) at = ranges_.erase(at);
  }
  bool overlaps(const Range& with) const {
    const Range* last = below(with.end() - 1);
    return last != nullptr && last->end() > with.begin;
  }
  /// The last range that begins at or below `address`.
  const Range* below(std::uintptr_t address) const {
    const auto above = ranges_.upper_bound(address);
    return above == ranges_.begin() ? nullptr : &std::prev(above)->second;
  }
  const Range* above(std::uintptr_t address) const {
    const auto above = ranges_.upper_bound(address);
    return above == ranges_.end() ? nullptr : &above->second;
  }

 private:
  std::map<std::uintptr_t, Range> ranges_;
};

struct Registry {
  std::atomic_flag lock;
  RangeSet device, freed, pinned;
  std::size_t used = 0;
  std::atomic<std::uint64_t> generation{1};
};

/// Lives as long as the process: arrays with static lifetime are freed late.
Registry& registry() {
  static auto& registry = *new Registry;
  return registry;
}

/// The last allocations that this thread has found; empty when any allocation has come or gone since.
struct Cache {
  static constexpr unsigned kSize = 4;
  std::uint64_t generation = 0;
  unsigned next = 0;
  Range ranges[kSize] = {};
};
thread_local Cache cache;

const Range* find(std::uintptr_t address, std::size_t bytes) {
  Registry& all = registry();
  const std::uint64_t generation = all.generation.load(std::memory_order_acquire);
  if (cache.generation == generation) {
    for (const Range& range : cache.ranges)
      if (range.holds(address, bytes) && range.bytes != 0) return &range;
  } else {
    for (Range& range : cache.ranges) range = {};
    cache.generation = generation;
  }
  const SpinLock lock(all.lock);
  const Range* range = all.device.below(address);
  if (range == nullptr || !range->holds(address, bytes)) return nullptr;
  Range& kept = cache.ranges[cache.next++ % Cache::kSize];
  kept = *range;
  return &kept;
}

void* allocate(std::size_t bytes) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, kAlignment, bytes) != 0) return nullptr;
  std::memset(pointer, 0xFF, bytes);
  return pointer;
}

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
  char buffer[160];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::string describe_near(std::uintptr_t address, std::size_t bytes, const Range* below, const Range* above) {
  if (below != nullptr && below->holds(address, 1)) {
    const std::size_t offset = address - below->begin;
    if (below->holds(address, bytes))
      return text("byte %zu of a device allocation of %zu bytes", offset, below->bytes);
    return text("byte %zu of a device allocation of %zu bytes, whose end the %zu bytes there cross by %zu",
                offset, below->bytes, bytes, offset + bytes - below->bytes);
  }
  const std::uintptr_t past = below != nullptr ? address - below->end() : kNearby;
  const std::uintptr_t before = above != nullptr ? above->begin - address : kNearby;
  if (past < kNearby && past <= before)
    return text("%zu bytes past the end of a device allocation of %zu bytes", static_cast<std::size_t>(past),
                below->bytes);
  if (before < kNearby)
    return text("%zu bytes before a device allocation of %zu bytes", static_cast<std::size_t>(before),
                above->bytes);
  return "host memory or unknown";
}

}  // namespace

void* allocate_device_memory(std::size_t bytes) {
  Registry& all = registry();
  const std::size_t used = used_device_memory(), total = settings().memory_bytes;
  if (used > total || bytes > total - used) return nullptr;
  void* pointer = allocate(bytes);
  if (pointer == nullptr) return nullptr;
  const Range range{address_of(pointer), bytes};
  const SpinLock lock(all.lock);
  all.freed.erase_overlapping(range);
  all.device.insert(range);
  all.used += bytes;
  all.generation.fetch_add(1, std::memory_order_release);
  return pointer;
}

bool free_device_memory(void* pointer) {
  Registry& all = registry();
  {
    const SpinLock lock(all.lock);
    Range range;
    if (!all.device.erase(address_of(pointer), range)) return false;
    all.freed.insert(range);
    all.used -= range.bytes;
    all.generation.fetch_add(1, std::memory_order_release);
  }
  std::free(pointer);
  return true;
}

std::size_t used_device_memory() {
  const SpinLock lock(registry().lock);
  return registry().used;
}

bool is_live_device_range(const void* pointer, std::size_t bytes) {
  return find(address_of(pointer), bytes) != nullptr;
}

bool find_device_allocation(const void* pointer, DeviceAllocation& found) {
  const Range* range = find(address_of(pointer), 1);
  if (range == nullptr) return false;
  found = {reinterpret_cast<const unsigned char*>(range->begin), range->bytes};
  return true;
}

void* allocate_pinned_memory(std::size_t bytes) {
  void* pointer = allocate(bytes);
  if (pointer == nullptr) return nullptr;
  const SpinLock lock(registry().lock);
  registry().pinned.insert({address_of(pointer), bytes});
  return pointer;
}

bool pin_memory(void* pointer, std::size_t bytes) {
  const Range range{address_of(pointer), bytes, true};
  const SpinLock lock(registry().lock);
  if (registry().pinned.overlaps(range)) return false;
  registry().pinned.insert(range);
  return true;
}

/// Forgets the pinned memory that begins at `pointer`, if it came to be so in this way.
static bool forget_pinned(void* pointer, bool is_registered) {
  const SpinLock lock(registry().lock);
  const Range* found = registry().pinned.below(address_of(pointer));
  if (found == nullptr || found->begin != address_of(pointer) || found->is_registered != is_registered)
    return false;
  Range erased;
  return registry().pinned.erase(address_of(pointer), erased);
}

bool unpin_memory(void* pointer) {
  return forget_pinned(pointer, true);
}

bool free_pinned_memory(void* pointer) {
  if (!forget_pinned(pointer, false)) return false;
  std::free(pointer);
  return true;
}

bool is_pinned_range(const void* pointer, std::size_t bytes) {
  const SpinLock lock(registry().lock);
  const Range* range = registry().pinned.below(address_of(pointer));
  return range != nullptr && range->holds(address_of(pointer), bytes);
}

std::string describe_pointer(const void* pointer, std::size_t bytes) {
  if (pointer == nullptr) return "null";
  const std::uintptr_t address = address_of(pointer);
  Registry& all = registry();
  const SpinLock lock(all.lock);
  if (const Range* pinned = all.pinned.below(address); pinned != nullptr && pinned->holds(address, 1))
    return text("pinned host memory (byte %zu of %zu)", static_cast<std::size_t>(address - pinned->begin),
                pinned->bytes);
  const Range* below = all.device.below(address);
  if (below == nullptr || !below->holds(address, 1))
    if (const Range* freed = all.freed.below(address); freed != nullptr && freed->holds(address, 1))
      return text("freed device memory (byte %zu of %zu)", static_cast<std::size_t>(address - freed->begin),
                  freed->bytes);
  return describe_near(address, bytes, below, all.device.above(address));
}

void check_device_pointer(const LaunchSite& site, const void* pointer) {
  if (pointer == nullptr || is_live_device_range(pointer, 1)) return;
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  throw LaunchError(site, std::string("pointer argument ") + address + " is no device memory: it is " +
                              describe_pointer(pointer));
}

}  // namespace trireme::simt::emulator
