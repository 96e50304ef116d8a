// SPDX-License-Identifier: Apache-2.0
// A tensor that the other ranks cannot see goes through the stage, a few slots in its rank's shared memory, a
// piece of the tensor per round. A round of an allreduce, two ranks:
//
//      rank 0   tensor --put--> slot | s0 | s1 |           rank 1   tensor --put--> slot | s0 | s1 |
//      then     s0 = s0 here + s0 there  (combine)         then     s1 = s1 there + s1 here
//      then     tensor <--take-- s0 here, s1 there         then     tensor <--take-- s0 there, s1 here
//
// The others need no combine: they take straight from the slots, a reduce-scatter adding as it takes. Between
// the three stand counters: combine waits until all have put the round, take until all have combined it, and
// put until all have taken the round that used the slot before. Put runs ahead of take by the number of
// slots, so that ranks seldom wait.
#include "src/comm/shm_staged.h"

#include <algorithm>
#include <cstring>

#include "src/comm/reduce.h"

namespace trireme {

ShmStaged::ShmStaged(ShmLane& lane, const ShmJob& job)
    : lane_(lane),
      job_(job),
      sums_in_slices_(job.kind == ShmJob::Kind::allreduce),
      from_(static_cast<std::size_t>(job.size)) {
  // Whole cache lines per row, so that two ranks never write to the same one.
  const std::size_t row_bytes = ShmLayout::kStageBytes / static_cast<std::size_t>(job.rows()) / 64 * 64;
  round_elements_ = static_cast<std::int64_t>(row_bytes / size_of(job.tensor.dtype));
  rounds_ = static_cast<std::uint64_t>((job.row() + round_elements_ - 1) / round_elements_);
}

void ShmStaged::begin() {
  first_ = put_ = combined_ = taken_ = lane_.rounds;
  lane_.rounds += rounds_;
}

ShmStaged::Round ShmStaged::elements_of(std::uint64_t round) const {
  const std::int64_t begin = static_cast<std::int64_t>(round - first_) * round_elements_;
  return {begin, std::min(begin + round_elements_, job_.row())};
}

bool ShmStaged::put() {
  if (put_ == first_ + rounds_) return false;
  if (put_ >= ShmLayout::kStageSlots && !lane_.all_reach(&ShmBoard::taken, put_ + 1 - ShmLayout::kStageSlots))
    return false;
  const auto [begin, end] = elements_of(put_);
  job_.put(begin, end, lane_.stage(job_.rank, put_));
  lane_.publish(&ShmBoard::put, ++put_);
  return true;
}

bool ShmStaged::combine() {
  if (!sums_in_slices_ || combined_ == put_ || !lane_.all_reach(&ShmBoard::put, combined_ + 1)) return false;
  const DType type = job_.tensor.dtype;
  const auto [begin, end] = elements_of(combined_);
  const PartRange slice = part_of(end - begin, job_.size, job_.rank, type);
  for (int r = 0; r < job_.size; ++r)
    from_[static_cast<std::size_t>(r)] = element_at(lane_.stage(r, combined_), type, slice.begin);
  void* const own = element_at(lane_.stage(job_.rank, combined_), type, slice.begin);
  sum_to_all(type, from_, {&own, 1}, slice.size());
  lane_.publish(&ShmBoard::combined, ++combined_);
  return true;
}

/// The sums of the round lie in slices, each in its rank's slot.
void ShmStaged::copy_sums(std::uint64_t round) const {
  const DType type = job_.tensor.dtype;
  const auto [begin, end] = elements_of(round);
  for (int r = 0; r < job_.size; ++r) {
    const PartRange slice = part_of(end - begin, job_.size, r, type);
    std::memcpy(element_at(job_.result.data, type, begin + slice.begin),
                element_at(lane_.stage(r, round), type, slice.begin),
                static_cast<std::size_t>(slice.size()) * size_of(type));
  }
}

bool ShmStaged::take() {
  if (taken_ == put_) return false;
  if (!lane_.all_reach(sums_in_slices_ ? &ShmBoard::combined : &ShmBoard::put, taken_ + 1)) return false;
  if (sums_in_slices_) {
    copy_sums(taken_);
  } else {
    const auto [begin, end] = elements_of(taken_);
    for (int r = 0; r < job_.size; ++r)
      from_[static_cast<std::size_t>(r)] =
          element_at(lane_.stage(r, taken_), job_.tensor.dtype, job_.own_row() * (end - begin));
    job_.take(from_, begin, end);
  }
  lane_.publish(&ShmBoard::taken, ++taken_);
  return true;
}

bool ShmStaged::advance(const WorkBudget& budget) {
  bool moved = true;
  while (moved && taken_ < first_ + rounds_) {
    moved = put();
    moved |= combine();
    moved |= take();
    if (budget.spent()) break;
  }
  return taken_ == first_ + rounds_;
}

std::string ShmStaged::awaited() const {
  if (taken_ == put_)  // no free slot
    return put_ < ShmLayout::kStageSlots ? std::string{}
                                         : lane_.behind(&ShmBoard::taken, put_ + 1 - ShmLayout::kStageSlots);
  if (sums_in_slices_ && combined_ > taken_) return lane_.behind(&ShmBoard::combined, taken_ + 1);
  return lane_.behind(&ShmBoard::put, taken_ + 1);
}

}  // namespace trireme
