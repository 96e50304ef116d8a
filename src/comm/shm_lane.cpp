// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_lane.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <new>
#include <utility>

#include "src/core/error.h"

namespace trireme {

ShmLane::ShmLane(int rank, std::vector<std::byte*> memories, std::size_t memory_bytes, std::vector<int> names)
    : rank_(rank), memories_(std::move(memories)), memory_bytes_(memory_bytes), names_(std::move(names)) {
  TRIREME_ASSERT(memory_bytes >= ShmLayout::kBuffers, "a rank's memory holds its board and its stage");
  new (memory(rank)) ShmBoard;
  for (std::byte* memory : memories_) boards_.push_back(std::launder(reinterpret_cast<ShmBoard*>(memory)));
}

std::byte* ShmLane::payload(int rank, std::uint64_t number) const {
  return memory(rank) + ShmLayout::kPayloads + number % ShmBoard::kDescriptors * ShmLayout::kPayloadBytes;
}

std::byte* ShmLane::stage(int rank, std::uint64_t round) const {
  return memory(rank) + ShmLayout::kStage + round % ShmLayout::kStageSlots * ShmLayout::kStageBytes;
}

ShmDescriptor& ShmLane::descriptor(int rank, std::uint64_t number) const {
  return board(rank).slots[number % ShmBoard::kDescriptors].descriptor;
}

std::uint64_t ShmLane::place_of(const void* data, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory(rank_));
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at < begin || at + bytes > begin + memory_bytes_) return ShmDescriptor::kElsewhere;
  return at - begin;
}

bool ShmLane::all_reach(ShmCounter ShmBoard::*counter, std::uint64_t value) const {
  for (const ShmBoard* board : boards_)
    if ((board->*counter).value.load(std::memory_order_acquire) < value) return false;
  return true;
}

bool ShmLane::all_arrived(std::uint64_t number) const {
  for (int r = 0; r < size(); ++r)
    if (descriptor(r, number).arrived.load(std::memory_order_acquire) != number + 1) return false;
  return true;
}

void ShmLane::publish(ShmCounter ShmBoard::*counter, std::uint64_t value) const {
  (board(rank_).*counter).value.store(value, std::memory_order_release);
}

bool ShmLane::finish(std::uint64_t number) {
  if (finished_ != number) return false;
  publish(&ShmBoard::finished, ++finished_);
  return true;
}

std::string ShmLane::behind(ShmCounter ShmBoard::*counter, std::uint64_t value) const {
  std::vector<int> late;
  for (int r = 0; r < size(); ++r)
    if ((board(r).*counter).value.load(std::memory_order_acquire) < value) late.push_back(r);
  return names_of(late);
}

std::string ShmLane::absent(std::uint64_t number) const {
  std::vector<int> late;
  for (int r = 0; r < size(); ++r)
    if (descriptor(r, number).arrived.load(std::memory_order_acquire) != number + 1) late.push_back(r);
  return names_of(late);
}

std::string ShmLane::names_of(std::span<const int> ranks) const {
  std::vector<int> names;
  for (const int r : ranks)
    if (r != rank_) names.push_back(name(r));
  if (names.empty()) return {};
  return fmt::format("{} {}", names.size() == 1 ? "rank" : "ranks", fmt::join(names, ", "));
}

}  // namespace trireme
