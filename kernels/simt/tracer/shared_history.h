// SPDX-License-Identifier: Apache-2.0
// Who touched each byte of a block's shared memory last, and what orders the threads of the block: vector
// clocks, joined where the emulator says that threads meet. An access races with an earlier one by another
// thread that no meeting has put before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trireme::simt::tracer {

struct Access {
  int thread;
  std::size_t offset;  ///< into shared memory
  std::size_t bytes;
  std::uintptr_t pc;
  const unsigned char* content;  ///< what is there
};

/// Why an access is a fault; `thread` and `pc` are those of the earlier access of a race.
struct Fault {
  enum class Kind { none, race_with_read, race_with_write, nobody_wrote };
  Kind kind = Kind::none;
  int thread = 0;
  std::uintptr_t pc = 0;
};

class SharedHistory {
 public:
  void start_block(int threads, std::size_t bytes);

  Fault read(const Access& access);
  Fault write(const Access& access);
  /// `thread` comes to, and goes on from, the meeting that `place` stands for.
  void arrive(int thread, const void* place);
  void leave(int thread, const void* place);

 private:
  using Clock = std::uint32_t;
  struct Stamp {
    std::uint16_t thread;
    Clock clock;  ///< 0: there is none
    std::uintptr_t pc;
  };
  /// Two readers are enough to know one that is not the thread that writes.
  struct Byte {
    std::uint64_t block = 0;
    Stamp writer{}, readers[2]{};
  };

  bool is_poison(const Access& access);
  Byte& byte_at(std::size_t offset);
  Clock& clock_of(int thread, int component) {
    return clocks_[static_cast<std::size_t>(thread) * static_cast<std::size_t>(threads_) +
                   static_cast<std::size_t>(component)];
  }
  bool is_before(const Stamp& stamp, int thread) {
    return stamp.clock == 0 || stamp.clock <= clock_of(thread, stamp.thread);
  }
  Stamp stamp_of(const Access& access) {
    return {static_cast<std::uint16_t>(access.thread), clock_of(access.thread, access.thread), access.pc};
  }

  int threads_ = 0;
  std::uint64_t block_ = 0;
  std::vector<Byte> bytes_;
  std::vector<Clock> clocks_;  ///< [thread][component]
  std::unordered_map<const void*, std::vector<Clock>> meetings_;
};

}  // namespace trireme::simt::tracer
