// SPDX-License-Identifier: Apache-2.0
// Every rank writes down what it calls and where its tensor lies, then stores the number of the collective;
// who sees the number may read the rest:
//
//      slot n % 64 of   rank 0                 rank 1                 rank 2
//                       allreduce, 1000 f32,   allreduce, 1000 f32,   (still n - 64: has
//                       at 4096; arrived: n    at 4096; arrived: n     not come yet)
//
// A slot is free again when all ranks have done their part of the collective that used it before.
#include "src/comm/shm_meeting.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/error.h"

namespace trireme {
namespace {

std::string text_of(const ShmDescriptor& called) {
  return fmt::format("{} ({} elements of {}, root {})", called.label.data(), called.count,
                     name_of(static_cast<DType>(called.type)), called.root);
}

}  // namespace

ShmMeeting::ShmMeeting(ShmLane& lane, const ShmJob& job, ShmAccess access, std::string description)
    : lane_(lane),
      job_(job),
      description_(std::move(description)),
      access_(access),
      is_short_(access == ShmAccess::as_job && job.source_bytes() <= ShmLayout::kPayloadBytes) {}

void ShmMeeting::begin() {
  number_ = lane_.begun++;
  tell();
}

bool ShmMeeting::tell() {
  if (lane_.told > number_) return true;
  if (lane_.told < number_) return false;
  constexpr std::uint64_t kSlots = ShmBoard::kDescriptors;
  if (number_ >= kSlots && !lane_.all_reach(&ShmBoard::finished, number_ + 1 - kSlots)) return false;
  ShmDescriptor& mine = lane_.descriptor(job_.rank, number_);
  mine.count = static_cast<std::uint64_t>(job_.tensor.count());
  mine.place = lane_.place_of(job_.tensor.data, job_.tensor.bytes());
  mine.kind = static_cast<std::uint32_t>(job_.kind);
  mine.type = static_cast<std::uint32_t>(job_.tensor.dtype);
  mine.root = job_.root;
  const std::size_t length = std::min(description_.size(), mine.label.size() - 1);
  std::memcpy(mine.label.data(), description_.data(), length);
  mine.label[length] = '\0';
  if (is_short_) job_.put(0, job_.row(), lane_.payload(job_.rank, number_));
  mine.arrived.store(number_ + 1, std::memory_order_release);
  ++lane_.told;
  return true;
}

ShmRoute ShmMeeting::meet() {
  if (route_ == ShmRoute::unknown && tell() && lane_.all_arrived(number_)) {
    check();
    route_ = choose();
  }
  return route_;
}

void ShmMeeting::check() const {
  const ShmDescriptor& mine = lane_.descriptor(job_.rank, number_);
  for (int r = 0; r < job_.size; ++r) {
    const ShmDescriptor& other = lane_.descriptor(r, number_);
    const bool same = mine.kind == other.kind && mine.count == other.count && mine.type == other.type &&
                      mine.root == other.root;
    if (!same)
      throw make_error(Status::internal, "the ranks call different collectives: rank {} {}, rank {} {}",
                       lane_.name(job_.rank), text_of(mine), lane_.name(r), text_of(other));
  }
}

ShmRoute ShmMeeting::choose() const {
  if (is_short_) return ShmRoute::payload;
  if (job_.size == 1) return ShmRoute::direct;
  const bool root_only = access_ == ShmAccess::as_job && job_.kind == ShmJob::Kind::broadcast;
  for (int r = 0; r < job_.size; ++r) {
    const bool is_seen = !root_only || r == job_.root;
    if (is_seen && lane_.descriptor(r, number_).place == ShmDescriptor::kElsewhere) return ShmRoute::staged;
  }
  return ShmRoute::direct;
}

std::byte* ShmMeeting::tensor_of(int rank) const {
  if (rank == job_.rank) return job_.tensor.as<std::byte>();
  const std::uint64_t place = lane_.descriptor(rank, number_).place;
  return lane_.memory(rank) + (place == ShmDescriptor::kElsewhere ? 0 : place);
}

std::string ShmMeeting::awaited() const {
  if (lane_.told <= number_) return lane_.behind(&ShmBoard::finished, number_ + 1 - ShmBoard::kDescriptors);
  return lane_.absent(number_);
}

}  // namespace trireme
