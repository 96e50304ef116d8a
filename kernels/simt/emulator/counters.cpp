// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "kernels/simt/emulated_threads.h"
#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/settings.h"
#include "kernels/simt/emulator/symbol_name.h"
#include "kernels/simt/emulator/worker.h"

namespace trireme::simt::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kBanks = 32, kBankBytes = 4;
constexpr unsigned kWavefrontBytes = kBanks * kBankBytes;

/// One bit for each sector of an allocation.
class SectorSet {
 public:
  explicit SectorSet(std::size_t bytes) : words_((bytes / kSectorBytes + 64) / 64) {}
  void add(std::size_t sector) { words_[sector / 64] |= std::uint64_t{1} << (sector % 64); }
  std::int64_t size() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct Touched {
  explicit Touched(const DeviceAllocation& of) : allocation(of), read(of.bytes), written(of.bytes) {}

  DeviceAllocation allocation;
  SectorSet read, written;
};

/// What the lanes of a warp did in one instruction; null where a lane was not there, or not yet.
struct Instruction {
  std::array<const void*, kLanes> addresses{};
  std::uint32_t arrived = 0;
  int bytes = 0;
};

/// Distinct values of address / unit.
template <std::size_t kSize>
int count_distinct(const std::array<const void*, kSize>& addresses, std::uintptr_t unit) {
  std::array<std::uintptr_t, kSize> units;
  std::size_t count = 0;
  for (const void* address : addresses)
    if (address != nullptr) units[count++] = reinterpret_cast<std::uintptr_t>(address) / unit;
  std::sort(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<int>(std::unique(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count)) -
                          units.begin());
}

/// Passes through the banks for lanes `begin` to `end`: the most different words that one bank is asked for.
int wavefronts(const void* const* addresses, unsigned begin, unsigned end, unsigned bytes) {
  std::array<std::array<std::uintptr_t, kLanes>, kBanks> words;
  std::array<unsigned, kBanks> counts{};
  for (unsigned lane = begin; lane < end; ++lane) {
    if (addresses[lane] == nullptr) continue;
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(addresses[lane]) / kBankBytes;
    for (std::uintptr_t word = first; word < first + bytes / kBankBytes; ++word) {
      auto& of_bank = words[word % kBanks];
      unsigned& count = counts[word % kBanks];
      if (std::find(of_bank.begin(), of_bank.begin() + count, word) == of_bank.begin() + count)
        of_bank[count++] = word;
    }
  }
  return static_cast<int>(*std::max_element(counts.begin(), counts.end()));
}

/// Puts the instructions of the running block together.
class Instructions {
 public:
  /// Adds one lane's part; the finished instruction where it was the last of the warp.
  const Instruction* add(unsigned thread, Site site, const void* address, int bytes) {
    const std::uint64_t place = place_of(site);
    const std::uint64_t occurrence = occurrences_[place << 10 | thread]++;
    const std::uint64_t key = occurrence << 32 | place << 5 | thread / kLanes;
    Instruction& instruction = pending_[key];
    instruction.addresses[thread % kLanes] = address;
    instruction.arrived |= 1U << (thread % kLanes);
    instruction.bytes = bytes != 0 ? bytes : instruction.bytes;
    if (instruction.arrived != 0xFFFFFFFFU) return nullptr;
    finished_ = instruction;
    pending_.erase(key);
    return &finished_;
  }
  /// The block has ended: hands over those that not all lanes came to.
  template <typename Visit>
  void finish_block(Visit visit) {
    for (const auto& [key, instruction] : pending_) visit(instruction);
    pending_.clear();
    occurrences_.clear();
  }

 private:
  std::uint64_t place_of(Site site) {
    if (site.file == last_site_.file && site.line == last_site_.line) return last_place_;
    last_site_ = site;
    last_place_ = places_.try_emplace({site.file, site.line}, places_.size()).first->second;
    return last_place_;
  }

  std::map<std::pair<const char*, int>, std::uint64_t> places_;
  Site last_site_{};
  std::uint64_t last_place_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> occurrences_;
  std::unordered_map<std::uint64_t, Instruction> pending_;
  Instruction finished_;
};

class Counter {
 public:
  void begin(const LaunchSite& site, const GridShape& shape) {
    KernelCounts launch;
    launch.kernel = symbol_name(site.function);
    if (launch.kernel.empty()) launch.kernel = site.kernel;
    launch.block_threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
    launch.dynamic_shared_bytes = static_cast<std::int64_t>(shape.shared_bytes);
    const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&launch](const KernelCounts& each) {
      return each.kernel == launch.kernel && each.block_threads == launch.block_threads &&
             each.dynamic_shared_bytes == launch.dynamic_shared_bytes;
    });
    current_ = static_cast<std::size_t>(found - kernels_.begin());
    if (found == kernels_.end()) kernels_.push_back(std::move(launch));
    ++counts().launches;
    counts().blocks += std::int64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  }

  void end() {
    finish_block();
    for (const Touched& each : touched_) {
      counts().read_sectors += each.read.size();
      counts().written_sectors += each.written.size();
      counts().allocations.push_back({each.allocation.begin, each.read.size(), each.written.size()});
    }
    touched_.clear();
  }

  void global_access(const void* pointer, int bytes, bool is_write, Site site) {
    notice_block();
    if (pointer != nullptr) touch(pointer, is_write);
    if (const Instruction* instruction = global_.add(thread(), site, pointer, bytes))
      add_global(*instruction);
  }

  void shared_copy(const void* shared, int bytes, Site site) {
    notice_block();
    if (const Instruction* instruction = shared_.add(thread(), site, shared, bytes)) add_shared(*instruction);
  }

  void matrix_rows(const void* const (&rows)[kLanes]) {
    for (unsigned phase = 0; phase < kLanes; phase += 8) {
      counts().shared_wavefronts += wavefronts(rows, phase, phase + 8, 16);
      ++counts().ideal_wavefronts;
    }
  }

  KernelCounts& counts() { return kernels_[current_]; }
  std::vector<KernelCounts> take() { return std::exchange(kernels_, {}); }

 private:
  static unsigned thread() { return static_cast<unsigned>(Worker::current().running()); }

  void notice_block() {
    const uint3 now = blockIdx;
    if (now.x == block_.x && now.y == block_.y && now.z == block_.z) return;
    finish_block();
    block_ = now;
  }
  void finish_block() {
    global_.finish_block([this](const Instruction& instruction) { add_global(instruction); });
    shared_.finish_block([this](const Instruction& instruction) { add_shared(instruction); });
  }

  void touch(const void* pointer, bool is_write) {
    const auto* byte = static_cast<const unsigned char*>(pointer);
    const auto holds = [byte](const Touched& each) {
      return byte >= each.allocation.begin && byte < each.allocation.begin + each.allocation.bytes;
    };
    auto found = std::find_if(touched_.begin(), touched_.end(), holds);
    if (found == touched_.end()) {
      DeviceAllocation allocation{};
      if (!find_device_allocation(pointer, allocation)) return;
      found = touched_.insert(touched_.end(), Touched(allocation));
    }
    const auto sector = static_cast<std::size_t>(byte - found->allocation.begin) / kSectorBytes;
    (is_write ? found->written : found->read).add(sector);
  }

  void add_global(const Instruction& instruction) {
    if (instruction.bytes == 0) return;
    counts().requested_sectors += count_distinct(instruction.addresses, kSectorBytes);
    const int bytes = instruction.bytes * count_distinct(instruction.addresses, 1);
    counts().ideal_sectors += (bytes + kSectorBytes - 1) / kSectorBytes;
  }

  /// As many lanes at once as fill all banks.
  void add_shared(const Instruction& instruction) {
    const auto bytes = static_cast<unsigned>(instruction.bytes);
    const unsigned lanes = kWavefrontBytes / bytes;
    for (unsigned begin = 0; begin < kLanes; begin += lanes) {
      const int taken = wavefronts(instruction.addresses.data(), begin, begin + lanes, bytes);
      counts().shared_wavefronts += taken;
      counts().ideal_wavefronts += taken > 0 ? 1 : 0;
    }
  }

  std::vector<KernelCounts> kernels_;
  std::size_t current_ = 0;
  std::vector<Touched> touched_;
  Instructions global_, shared_;
  uint3 block_{};
};

Counter& counter() {
  static Counter counter;
  return counter;
}

}  // namespace

std::vector<KernelCounts> take_counts() {
  return counter().take();
}

void begin_counting(const LaunchSite& site, const GridShape& shape) {
  if (settings().counting) counter().begin(site, shape);
}
void end_counting() {
  if (settings().counting) counter().end();
}
void count_global_access(const void* pointer, int bytes, bool is_write, Site site) {
  counter().global_access(pointer, bytes, is_write, site);
}
void count_shared_copy(const void* shared, int bytes, Site site) {
  counter().shared_copy(shared, bytes, site);
}
void count_matrix_rows(const void* const (&rows)[32], Site /*site*/) {
  counter().matrix_rows(rows);
}
void count_flops(std::int64_t flops) {
  counter().counts().flops += flops;
}
void count_barrier() {
  ++counter().counts().barriers;
}

}  // namespace trireme::simt::emulator
