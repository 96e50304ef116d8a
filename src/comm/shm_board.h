// SPDX-License-Identifier: Apache-2.0
// What lies at the begin of every rank's shared memory. Nobody sends messages: a rank writes its own board,
// the others look.
//
//      memory of rank r                                            written by
//      +-----------------------------------------------------+
//      | finished | put | combined | taken     (counters)    |     r
//      | descriptor 0 | descriptor 1 | ... | descriptor 63   |     r
//      +-----------------------------------------------------+
//      | payload 0    | payload 1    | ... | payload 63      |     r
//      +-----------------------------------------------------+
//      | stage slot 0 | 1 | 2 | 3                            |     r
//      +-----------------------------------------------------+
//      | buffers: the flat gradients                         |     all, each its own slice
//      +-----------------------------------------------------+
//
// All counters only grow. A writer stores with release what a reader loads with acquire, so that whoever sees
// a number also sees the memory that it speaks of.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trireme {

/// A number that one rank writes and all read, alone on its cache lines (CPUs fetch them in pairs).
struct alignas(128) ShmCounter {
  std::atomic<std::uint64_t> value{0};
};

/// What one rank calls: equal on all ranks, but for the place.
struct ShmDescriptor {
  static constexpr std::uint64_t kElsewhere = ~std::uint64_t{0};
  static constexpr std::size_t kLabelBytes = 72;

  std::atomic<std::uint64_t> arrived{0};  ///< 1 + the number of the collective, stored last
  std::uint64_t count = 0;                ///< elements
  std::uint64_t place = kElsewhere;       ///< of the tensor that others read, in the rank's memory
  std::uint32_t kind = 0, type = 0;
  std::int32_t root = 0;
  std::array<char, kLabelBytes> label{};  ///< for messages
};

/// The part of a rank's memory with counters and descriptors.
struct alignas(128) ShmBoard {
  static constexpr std::size_t kDescriptors = 64;

  ShmCounter finished;              ///< collectives that this rank has done its part of
  ShmCounter put, combined, taken;  ///< rounds of staged collectives, counted over all of them
  struct alignas(128) Slot {
    ShmDescriptor descriptor;
  };
  std::array<Slot, kDescriptors> slots;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "other processes must see plain stores");

/// Offsets in a rank's memory.
struct ShmLayout {
  static constexpr std::size_t kPayloadBytes =
      4096;  ///< a collective up to this size travels beside its descriptor
  static constexpr std::size_t kStageSlots = 4;
  static constexpr std::size_t kStageBytes = std::size_t{256} << 10;
  static constexpr std::size_t kAlignment = 4096;

  static constexpr std::size_t kPayloads = (sizeof(ShmBoard) + kAlignment - 1) / kAlignment * kAlignment;
  static constexpr std::size_t kStage = kPayloads + ShmBoard::kDescriptors * kPayloadBytes;
  static constexpr std::size_t kBuffers = kStage + kStageSlots * kStageBytes;
};

}  // namespace trireme
