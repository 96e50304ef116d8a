// SPDX-License-Identifier: Apache-2.0
// Ranks meet at the one that made the id: each tells it its place, and gets the places of all.
#include "src/comm/nccl_emulated/emulated_comm.h"

#include <cstring>

#include "kernels/simt/emulator/settings.h"

using namespace trireme::emulated;

namespace {

struct Place {
  UniqueId id;
  std::int64_t rank, world_rank;
};

std::vector<std::byte> bytes_of(const std::vector<Place>& places) {
  std::vector<std::byte> bytes(places.size() * sizeof(Place));
  std::memcpy(bytes.data(), places.data(), bytes.size());
  return bytes;
}

int own_world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// Tags of MPI_COMM_WORLD above those that anybody picks by hand.
constexpr int kFirstTag = 1 << 24;
constexpr int kIds = 1024, kIdsOfOneMaker = 128, kSequences = 1024, kKinds = 4;

}  // namespace

ncclComm::ncclComm(const UniqueId& id, int size, int rank) : id_(id), size_(size), rank_(rank) {
  meet();
}

int ncclComm::tag(MessageKind kind, std::uint64_t sequence) const {
  const auto id = static_cast<int>((id_.maker * kIdsOfOneMaker + id_.number) % kIds);
  return kFirstTag + (id * kSequences + static_cast<int>(sequence % kSequences)) * kKinds +
         static_cast<int>(kind);
}

void ncclComm::meet() {
  const int own = own_world_rank(), tag_of_meeting = tag(MessageKind::meeting, 0);
  if (own == id_.maker) {
    for (int i = 1; i < size_; ++i)
      received_.push_back(&meeting_.receive(MPI_ANY_SOURCE, tag_of_meeting, sizeof(Place)));
    return;
  }
  const auto maker = static_cast<int>(id_.maker);
  meeting_.send(maker, tag_of_meeting, bytes_of({{id_, rank_, own}}));
  // Another kind: the maker listens to all ranks on the first.
  received_.push_back(
      &meeting_.receive(maker, tag(MessageKind::header, 0), static_cast<std::size_t>(size_) * sizeof(Place)));
}

void ncclComm::take_places(const std::vector<const std::vector<std::byte>*>& places) {
  world_ranks_.assign(static_cast<std::size_t>(size_), -1);
  const auto take = [this](const Place& place) {
    const bool is_ours = place.id == id_ && place.rank >= 0 && place.rank < size_;
    if (!is_ours || world_ranks_[static_cast<std::size_t>(place.rank)] >= 0)
      fail(ncclInvalidArgument, "two ranks have one place, or places of different communicators");
    else
      world_ranks_[static_cast<std::size_t>(place.rank)] = static_cast<int>(place.world_rank);
  };
  for (const std::vector<std::byte>* bytes : places)
    for (std::size_t at = 0; at < bytes->size(); at += sizeof(Place)) {
      Place place;
      std::memcpy(&place, bytes->data() + at, sizeof place);
      take(place);
    }
  if (own_world_rank() == id_.maker) take({id_, rank_, own_world_rank()});
}

/// Whether the places of all ranks are known here.
bool ncclComm::has_met() {
  if (is_connected_) return true;
  if (!meeting_.all_done()) return false;
  if (!has_answered_) {
    has_answered_ = true;
    take_places(received_);
    if (own_world_rank() == id_.maker && !has_failed_) {
      std::vector<Place> all;
      for (int rank = 0; rank < size_; ++rank) all.push_back({id_, rank, world_rank(rank)});
      for (int rank = 0; rank < size_; ++rank)
        if (rank != rank_) meeting_.send(world_rank(rank), tag(MessageKind::header, 0), bytes_of(all));
    }
    return has_met();
  }
  is_connected_ = true;
  return true;
}

ncclResult_t ncclComm::state() {
  const std::lock_guard lock(mutex_);
  if (is_aborted_) return ncclInvalidUsage;
  if (has_failed_) return result_;
  const bool was_asked = std::exchange(was_asked_, true);
  if (!has_met()) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun_;
    if (waited.count() > trireme::simt::emulator::settings().peer_timeout_seconds)
      fail(ncclRemoteError, "not all ranks have come to the communicator");
    return has_failed_ ? result_ : ncclInProgress;
  }
  if (has_failed_) return result_;
  if (!was_asked || (is_finalized_ && pending_ > 0)) return ncclInProgress;
  return ncclSuccess;
}

void ncclComm::fail(ncclResult_t result, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return;
  result_ = result;
  last_error_ = what;
  has_failed_ = true;
}

void ncclComm::add_registration(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  registered_[reinterpret_cast<std::uintptr_t>(begin)] = bytes;
}

bool ncclComm::remove_registration(const void* begin) {
  const std::lock_guard lock(mutex_);
  return registered_.erase(reinterpret_cast<std::uintptr_t>(begin)) != 0;
}

bool ncclComm::is_registered(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto above = registered_.upper_bound(address);
  if (above == registered_.begin()) return false;
  const auto& [from, size] = *std::prev(above);
  return address + bytes <= from + size;
}
