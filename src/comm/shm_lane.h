// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/comm/shm_board.h"

namespace trireme {

/// One rank's place among the ranks that share memory: pointers to everybody's memory, and how far this rank
/// is. It knows neither processes nor MPI: in tests the ranks are threads. All collectives of a rank use one
/// lane; only the thread that steps them calls it.
class ShmLane {
 public:
  /// `memories`: every rank's memory, by rank, as this process sees it, each at least `memory_bytes` and
  /// zeroed. `names`: the ranks as messages call them. Makes this rank's board; no rank may use its lane
  /// before all have made theirs.
  ShmLane(int rank, std::vector<std::byte*> memories, std::size_t memory_bytes, std::vector<int> names);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(memories_.size()); }

  std::byte* memory(int rank) const { return memories_[static_cast<std::size_t>(rank)]; }
  std::byte* payload(int rank, std::uint64_t number) const;
  std::byte* stage(int rank, std::uint64_t round) const;
  ShmBoard& board(int rank) const { return *boards_[static_cast<std::size_t>(rank)]; }
  ShmDescriptor& descriptor(int rank, std::uint64_t number) const;
  /// Where in this rank's memory, or kElsewhere.
  std::uint64_t place_of(const void* data, std::size_t bytes) const;
  int name(int rank) const { return names_[static_cast<std::size_t>(rank)]; }

  /// Whether every rank's counter is at least `value`.
  bool all_reach(ShmCounter ShmBoard::*counter, std::uint64_t value) const;
  bool all_arrived(std::uint64_t number) const;
  /// "ranks 2, 3": those whose counter is below `value`.
  std::string behind(ShmCounter ShmBoard::*counter, std::uint64_t value) const;
  std::string absent(std::uint64_t number) const;
  void publish(ShmCounter ShmBoard::*counter, std::uint64_t value) const;

  /// Tells all that this rank has done its part of a collective: in order, false while it is not its turn.
  bool finish(std::uint64_t number);

  /// How many collectives this rank has begun, has told the others of, and need its own work no more before
  /// the next may start with it; and how many rounds its staged collectives take.
  std::uint64_t begun = 0, told = 0, entered = 0, rounds = 0;

 private:
  std::string names_of(std::span<const int> ranks) const;

  int rank_;
  std::vector<std::byte*> memories_;
  std::vector<ShmBoard*> boards_;
  std::size_t memory_bytes_;
  std::vector<int> names_;
  std::uint64_t finished_ = 0;
};

}  // namespace trireme
